"""Real cells: Ray Tune, Ray Train worker groups, processes that fail and die."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
import torch
from ray.train._internal.storage import StorageContext
from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler

from benchmarks.registry import make_benchmark
from benchmarks.testing import assert_same_state
from harness.cell import CellProgress
from harness.cluster import pool as pool_module
from harness.cluster.loopback import is_loopback
from harness.cluster.messages import CellOverError, EpochCommand
from harness.cluster.pool import WorkerPool
from harness.cluster.ray_cluster import RayCluster
from harness.cluster.retraining import retrain_on
from harness.cluster.storage import Storage
from harness.cluster.train_spec import TrainRunSpec
from harness.contract import Benchmark
from harness.contract.records import KINDS, Incumbent, Report, Retraining, TrialEnd
from harness.retraining.job import RetrainJob
from harness.tuning.scheduler import RecordingScheduler
from harness.tuning.scores import Scoreboard
from harness.tuning.states import unpack_state
from reports.run import Cell
from tests.harness.conftest import RunCell
from tests.harness.toy_benchmark import Toy

pytestmark = pytest.mark.cluster


def held_by_kind(cell: Cell) -> dict[str, float]:
    totals = dict.fromkeys(KINDS, 0.0)
    for row in cell.record.ledger:
        totals[row.kind] += row.device_seconds
    return totals


def assert_accounted(cell: Cell) -> None:
    """What every cell promises, whatever happened in it."""
    record = cell.record
    assert sum(held_by_kind(cell).values()) == pytest.approx(record.held_device_seconds, rel=0.01)
    assert record.held_device_seconds <= record.budget_device_seconds * (1 + 1e-9)
    limit = record.budget_device_seconds / record.devices
    assert all(report.reported_s <= limit for report in cell.reports), "counted after the cut"
    by_trial: defaultdict[int, int] = defaultdict(int)
    for report in cell.reports:
        # What takes over another trial's state goes on from that one's epoch.
        before = by_trial[report.trial] if report.parent is None else report.parent.epoch
        assert report.epoch == before + 1, f"trial {report.trial} skipped an epoch"
        by_trial[report.trial] = report.epoch
    final = [end.trial for end in cell.ends if not end.retried]
    assert sorted(final) == list(range(len(final))), "each trial ends once"
    assert set(by_trial) <= set(final)
    if record.incumbent is not None:
        assert math.isfinite(record.incumbent.validation_score)


def ends(cell: Cell, status: str, retried: bool = False) -> list[TrialEnd]:
    return [end for end in cell.ends if (end.status, end.retried) == (status, retried)]


def faults(cell: Cell) -> dict[object, set[str]]:
    """How trials with each fault ended (those that were cut apart)."""
    found: defaultdict[object, set[str]] = defaultdict(set)
    for end in cell.ends:
        if not end.retried and end.status != "cut":
            found[end.config["fault"]].add(end.status)
    return dict(found)


def test_every_fault_in_one_cell(run_cell: RunCell) -> None:
    cell = run_cell(
        "optuna/fifo",
        faults="none,nan,inf,-inf,raise,no_metric,die_once",
        seconds=300,
        max_trials=20,
        max_epochs=4,
    )
    assert_accounted(cell)
    assert cell.record.status == "completed"
    assert faults(cell) == {
        "none": {"finished"},
        "nan": {"diverged"},
        "inf": {"diverged"},
        "-inf": {"diverged"},
        "raise": {"failed"},
        "no_metric": {"failed"},
        "die_once": {"finished"},
    }
    reasons = {str(end.config["fault"]): end.reason for end in ends(cell, "failed")}
    assert reasons["raise"] is not None and reasons["raise"].startswith("ValueError: x = ")
    assert (
        reasons["no_metric"]
        == "the benchmark reported no 'score'; it reported loss, test, train_loss"
    )
    # Each failure was tried again once, from the epoch before it, and cost what it cost.
    again = ends(cell, "failed", retried=True)
    retried = [end for end in again if end.config["fault"] != "die_once"]
    assert [end.trial for end in retried] == [end.trial for end in ends(cell, "failed")]
    assert {end.epoch for end in again} == {1}
    for end in ends(cell, "failed"):
        spent = sum(r.device_seconds for r in cell.record.ledger if r.trial == end.trial)
        assert spent > 0.05 * 3 * 2
    # Told the same way: as the worst finite score so far.
    for end in ends(cell, "failed") + ends(cell, "diverged"):
        failed = {other.trial for other in ends(cell, "failed") if other.at_s <= end.at_s}
        earlier = [
            r.validation_score
            for r in cell.reports
            if r.reported_s <= end.at_s
            and math.isfinite(r.validation_score)
            and r.trial not in failed
        ]
        assert end.told_score == min(earlier, default=None)
    assert cell.record.incumbent is not None
    assert cell.record.incumbent.config["fault"] not in ("raise", "no_metric")
    is_whole = cell.record.incumbent.config["fault"] in ("none", "die_once")
    assert is_whole or cell.record.incumbent.epoch == 1
    # The checkpoint that was kept is the incumbent's.
    kept = run_cell.last_folder / "incumbent"
    state = torch.load(kept / "state.pt", weights_only=True)
    assert state["epoch"] == cell.record.incumbent.epoch
    assert state["lineage"][0] == cell.record.incumbent.config["x"]
    named = Incumbent.model_validate_json((kept / "incumbent.json").read_text())
    assert named == cell.record.incumbent
    # A dead worker is replaced, and its trial goes on.
    (died,) = [end for end in again if end.config["fault"] == "die_once"]
    assert died.reason is not None and "died" in died.reason
    broken = [r for r in cell.reports if r.trial == died.trial]
    assert [(r.epoch, r.attempt) for r in broken] == [(1, 0), (2, 1), (3, 1), (4, 1)]
    billed = {r.trial: r.device_seconds for r in cell.record.ledger if r.kind == "setup"}
    assert set(billed) == {died.trial}, "the restart is the trial's that broke the group"
    assert billed[died.trial] > 2


def test_a_session_that_cannot_be_built(run_cell: RunCell) -> None:
    cell = run_cell(faults="session", seconds=5, workers=1)
    reason = "the worker groups did not start: worker 0 died: OSError: no disk here"
    assert (cell.record.status, cell.record.reason) == ("failed", reason)


def test_a_trial_has_its_folder_before_it_starts(cluster: RayCluster, tmp_path: Path) -> None:
    """The cell's end can leave a trial waiting for an actor, and Tune's results ask for a path."""
    storage = StorageContext(storage_path=str(tmp_path), experiment_dir_name="tune")
    trial = Trial("toy", stub=True, storage=storage)
    scheduler = RecordingScheduler(
        FIFOScheduler(), metric="score", max_epochs=9, scores=Scoreboard("max"), heals=False
    )
    scheduler.on_trial_add(None, trial)
    assert str(trial.path).startswith(storage.experiment_fs_path)


def listening() -> set[tuple[str, str, int]]:
    """(program, IP, port) of every TCP socket that this process's family listens on."""
    me = psutil.Process()
    found = set()
    for process in [me, *me.children(recursive=True)]:
        try:
            for socket in process.net_connections(kind="tcp"):
                if socket.status == psutil.CONN_LISTEN:
                    name = " ".join(process.cmdline())[:80]
                    ip = socket.laddr.ip.removeprefix("::ffff:")
                    found.add((name, ip, socket.laddr.port))
        except psutil.NoSuchProcess:
            continue
    return found


def test_pbt_on_two_slots_where_less_is_better_and_nothing_listens_beyond_loopback(
    run_cell: RunCell,
) -> None:
    """Half a core for each of four workers."""
    seen: list[int] = []
    sockets: set[tuple[str, str, int]] = set()

    def look(progress: CellProgress) -> None:
        seen.append(progress.running)
        if progress.phase == "running":
            sockets.update(listening())

    cell = run_cell(
        "pbt",
        benchmark="toy_min",
        slots=2,
        workers=2,
        seconds=120,
        max_trials=5,
        max_epochs=8,
        on_progress=look,
    )
    assert_accounted(cell)
    assert len(sockets) > 5, "Ray's own servers were not seen"
    assert any(name.startswith("ray::RayTrainWorker") for name, _, _ in sockets)
    assert {found for found in sockets if not is_loopback(f"{found[1]}:0")} == set()
    assert {report.slot for report in cell.reports} == {0, 1}
    assert cell.record.incumbent is not None
    scores = [report.validation_score for report in cell.reports]
    assert cell.record.incumbent.validation_score == min(scores)
    assert max(seen) == 2
    spans = sorted((r.started_s, r.reported_s, r.slot) for r in cell.reports)
    assert any(a[1] > b[0] for a, b in itertools.pairwise(spans)), "never at once"

    inherited = [report for report in cell.reports if report.parent is not None]
    assert inherited, "no exploit in a cell that had time for many"
    by_trial: dict[tuple[int, int], Report] = {(r.trial, r.epoch): r for r in cell.reports}
    for report in inherited:
        assert report.parent is not None
        # Goes on from the checkpoint's epoch, as assert_accounted has seen.
        assert by_trial[report.parent.trial, report.parent.epoch]
        assert 0.0 <= float(report.config["x"]) <= 1.0  # type: ignore[arg-type]
    population = cell.record.settings["population"]
    assert max(report.trial for report in cell.reports) >= population, (
        "a fresh population when one finishes early"
    )
    # What its pauses write and its resumptions read is no idle time, though no epoch has it.
    for kind in ("checkpoint", "restore"):
        in_epochs = sum(s.seconds for r in cell.reports for s in r.spans if s.kind == kind)
        assert held_by_kind(cell)[kind] > in_epochs + 1e-3


def remote_pool(cluster: RayCluster, pool: type[WorkerPool] = WorkerPool) -> Any:
    """A pool's class as a cell's process has it: its runs must find their own State API."""
    variables = {"env_vars": {"RAY_ADDRESS": cluster.address}}
    return ray.remote(num_cpus=0, max_concurrency=50, runtime_env=variables)(pool)


class HastyPool(WorkerPool):
    """Loses patience with a straggler after five seconds."""

    def __init__(self, slots: int, spec: Any) -> None:
        pool_module.STRAGGLER_MIN_S = 5.0
        super().__init__(slots, spec)


FAULTS = ("raise", "nan", "die_once", "hang", "rank_1_hangs")


def two_workers(benchmark: Benchmark, folder: Path) -> TrainRunSpec:
    """A worker group of two, on a core each."""
    return TrainRunSpec(
        benchmark=benchmark,
        dataset=benchmark.find_data(None),
        data_seed=0,
        workers=2,
        device_kind="CPU",
        devices_per_worker=1.0,
        storage=Storage(str(folder)),
    )


def test_retrainings_that_fail_die_and_hang_leave_the_next_one_its_workers(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """Among them case 31, ray PR#50874: where only rank 0 reports, a timeout with a message."""
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    benchmark = Toy(folder=str(tmp_path))
    spec = two_workers(benchmark, tmp_path)
    good = {"x": 0.25, "fault": "none"}
    paths: list[list[dict[str, Any]]] = [
        [good] * 3,
        [good, {**good, "x": 0.5}, {**good, "x": 0.5}],
        *[[{**good, "fault": fault}] * 3 for fault in FAULTS],
        [good] * 3,
    ]
    jobs = [
        RetrainJob(cell=0, configs=configs, seed=seed, epoch_seconds=0.1)
        for seed, configs in enumerate(paths)
    ]
    done: dict[int, Retraining] = {}
    pool: Any = remote_pool(cluster, HastyPool).remote(1, spec)
    ray.get(pool.start.remote(None))
    try:
        retrain_on(pool, 1, jobs, benchmark, done.__setitem__, limit_s=lambda job: 8.0)
    finally:
        ray.get(pool.close.remote())
        ray.kill(pool)
    assert list(done) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [done[index].seed for index in done] == list(done)
    assert [done[index].validation_score for index in (0, 1, 7)] == [0.21875, 0.4375, 0.21875]
    assert done[1].test_score == 0.4375 / 2
    reasons = [str(done[index].reason) for index in (2, 3, 4, 5, 6)]
    assert reasons[:2] == [
        "epoch 2 of 3: ValueError: x = 0.25 is too much",
        "epoch 2 of 3: diverged: a score of nan",
    ]
    assert reasons[2].startswith("epoch 2 of 3: ") and "died" in reasons[2]
    assert reasons[3] == "epoch 2 of 3: none of 2 worker(s) reported in time"
    assert reasons[4] == "epoch 2 of 3: worker [1] of 2 did not report although rank [0] had"


def test_what_is_trained_for_an_actor_that_died_is_lost_and_given_to_nobody(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """The slot has another holder while its workers are still at the epoch of the dead one. Then
    the cell ends in the middle of an epoch, which is charged and counts for nobody."""
    spec = replace(two_workers(Toy(folder=str(tmp_path)), tmp_path), workers=1)
    pool: Any = remote_pool(cluster).remote(1, spec)

    def train(trial: int, start: bool = True) -> Any:
        config = {"x": 0.5, "fault": "none" if trial == 1 else "wait_once"}
        return pool.train.remote(0, EpochCommand(trial, config, seed=0, start=start, state_ref=[]))

    ray.get(pool.start.remote(1000.0))
    try:
        ray.get(train(0))
        ray.get(pool.reported.remote(0, 1, None))
        orphan = train(0, start=False)
        while not (tmp_path / "wait_once-0").exists():
            time.sleep(0.01)
        ray.get(pool.actor_died.remote(0))
        next_one = train(1)
        (tmp_path / "go").touch()
        assert ray.get(next_one).metrics["score"] == 0.25, "the first epoch of trial 1"
        assert ray.get(orphan).charges == []
        ray.get(pool.reported.remote(1, 1, None))
        unheard = ray.get(train(1, start=False))
        ray.get(pool.actor_died.remote(1))
        again = ray.get(train(1))
        ray.get(pool.reported.remote(1, 1, None))
        ray.get(train(2))
        for file in ("wait_once-0", "go"):
            (tmp_path / file).unlink()
        under_way = train(2, start=False)
        while not (tmp_path / "wait_once-0").exists():
            time.sleep(0.01)
        account = ray.get(pool.close.remote())
        with pytest.raises(CellOverError):
            ray.get(under_way)
    finally:
        ray.kill(pool)
    seconds = {(trial, kind): s for trial, kind, s in account.charges}
    assert sum(seconds.values()) == pytest.approx(account.ended_s)
    assert 0 < seconds[0, "lost"] < account.ended_s
    assert seconds[1, "lost"] == pytest.approx(sum(s for _, s in unheard.spans))
    ((in_flight, flight_s),) = account.in_flight
    assert in_flight == 2 and 0 < flight_s < seconds[2, "train"]
    noted = [charge for charge in again.charges if charge.kind == "lost"]
    assert sum(charge.seconds for charge in noted) == pytest.approx(seconds[1, "lost"])


def test_a_trial_goes_on_bit_for_bit_in_another_worker_group(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """FashionMNIST: 3 epochs straight == 2 epochs, state, another group of processes, 1 epoch."""
    benchmark = make_benchmark("fashion_mnist", {})
    config = {"lr": 2e-3, "batch_size": 500, "width": 64, "depth": 2, "dropout": 0.3}
    config["weight_decay"] = 0.01
    spec = replace(two_workers(benchmark, tmp_path), devices_per_worker=0.5)
    pool: Any = remote_pool(cluster).remote(2, spec)

    def train(slot: int, start: bool, state: bytes = b"") -> tuple[dict[str, float], bytes]:
        given = [ray.put(state)] if state else []
        command = EpochCommand(0, config, seed=7, start=start, state_ref=given)
        result = ray.get(pool.train.remote(slot, command))
        return result.metrics, ray.get(result.state_ref[0])

    ray.get(pool.start.remote(1000.0))
    try:
        straight = [train(0, start=epoch == 0) for epoch in range(3)]
        metrics, state = train(1, start=True, state=straight[1][1])
    finally:
        ray.get(pool.close.remote())
        ray.kill(pool)
    assert metrics == straight[2][0]
    assert_same_state(unpack_state(state), unpack_state(straight[2][1]))
