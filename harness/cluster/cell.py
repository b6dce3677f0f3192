"""Runs one cell in this process: Ray Tune on a pool of warm worker groups, under a budget."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
from benchmarks.registry import BENCHMARKS, make_benchmark
from ray import tune
from ray.tune.search.basic_variant import BasicVariantGenerator

from harness.clock import Clock
from harness.cluster.messages import EpochError
from harness.cluster.pool import PoolAccount, WorkerPool
from harness.cluster.spec import CellProgress, CellSpec
from harness.cluster.storage import Storage, open_storage
from harness.cluster.train_run import TrainRunSpec
from harness.cluster.trial_actor import TrialActor, trial_name, trial_number
from harness.contract import Benchmark, Plan, Problem, Strategy
from harness.contract.records import CellRecord, CellStatus, InFlight, LedgerRow
from harness.problem import make_problem
from harness.tuning.recorder import Recorder
from harness.tuning.scheduler import RecordingScheduler
from harness.tuning.scores import Scoreboard
from harness.tuning.searcher import ToldSearcher, told_searcher
from harness.tuning.stopper import CellStopper
from strategies.check import build_plan
from strategies.registry import STRATEGIES

Report = Callable[[CellProgress], None]

STATUS_PERIOD_S = 0.5


@dataclass
class _Parts:
    """A cell's moving parts, made from its spec."""

    strategy: Strategy
    benchmark: Benchmark
    problem: Problem
    plan: Plan
    recorder: Recorder
    searcher: Any
    scheduler: RecordingScheduler
    told: ToldSearcher | None


def run_cell(spec: CellSpec, folder: Path, report: Report, clock: Clock) -> CellRecord:
    """Run a cell from its start to its cut; its events and incumbent are in ``folder``.

    Seeds this process's global random states, which PBT and ASHA draw from: one cell, one process.
    """
    started = clock.now()
    report(CellProgress(phase="starting"))
    seed_globals(spec.seed)
    parts = _make_parts(spec, folder, clock)
    setup_seconds, account = _tune(spec, parts, report, clock, started)
    parts.recorder.finish(account.ended_s)
    wall_seconds = clock.now() - started
    return _record(spec, parts, folder, account, setup_seconds, wall_seconds)


def seed_globals(seed: int) -> None:
    """Seed what Ray's schedulers and ``Domain.sample`` draw from."""
    random.seed(seed)
    np.random.seed(seed)


def load_files(spec: CellSpec) -> None:
    """Register the user's own files; their classes travel to the workers by value."""
    import sys

    for registry, files in (
        (STRATEGIES, spec.study.strategy_files),
        (BENCHMARKS, spec.study.benchmark_files),
    ):
        for path in files:
            registry.add_file(path)
            ray.cloudpickle.register_pickle_by_value(sys.modules[f"harness_file_{path.stem}"])


def _make_parts(spec: CellSpec, folder: Path, clock: Clock) -> _Parts:
    strategy = STRATEGIES.get(spec.strategy)
    benchmark = make_benchmark(spec.study.benchmark, spec.study.benchmark_options)
    problem = make_problem(benchmark, spec.devices.slots, spec.budget_epochs, spec.seed)
    plan = build_plan(strategy, problem, benchmark.gives_checkpoints)
    scores = Scoreboard(benchmark.mode)
    scheduler = RecordingScheduler(
        plan.scheduler,
        metric=benchmark.metric,
        max_epochs=benchmark.max_epochs,
        scores=scores,
        heals=strategy.changes_config,
    )
    searcher, told = told_searcher(
        plan.searcher, benchmark.metric, spec.devices.slots, scores, clock
    )
    recorder = Recorder(
        folder,
        benchmark,
        scheduler,
        told,
        rungs=plan.rungs,
        slots=spec.devices.slots,
        devices_per_slot=spec.devices_per_slot,
        max_same_failures=spec.study.max_same_failures,
        trial_number=trial_number,
    )
    return _Parts(strategy, benchmark, problem, plan, recorder, searcher, scheduler, told)


def _tune(
    spec: CellSpec, parts: _Parts, report: Report, clock: Clock, started: float
) -> tuple[float, PoolAccount]:
    """Start the pool and Tune side by side; returns the setup's seconds and the account."""
    storage = open_storage(spec.storage).child(spec.name)
    pool = _make_pool(spec, parts.benchmark, storage)
    opening = pool.start.remote(spec.budget_seconds)
    watch = _Watch(spec, parts.recorder, opening, report, clock, started)
    _tuner(spec, parts, pool, storage, watch).fit()
    watch.end()
    account: PoolAccount = ray.get(pool.close.remote())
    return watch.setup_seconds, account


class _Watch:
    """Follows a cell from Tune's loop: notices the start and the end, and feeds the live table."""

    def __init__(
        self,
        spec: CellSpec,
        recorder: Recorder,
        opening: Any,
        report: Report,
        clock: Clock,
        started: float,
    ) -> None:
        self._spec, self._recorder, self._opening = spec, recorder, opening
        self._report, self._clock, self._started = report, clock, started
        self._opened: float | None = None
        self._reported = started
        self.setup_seconds = 0.0

    def is_over(self) -> bool:
        now = self._clock.now()
        if self._opened is None and ray.wait([self._opening], timeout=0)[0]:
            self._open(now)
        if now - self._reported >= STATUS_PERIOD_S:
            self._reported = now
            self._report(self.progress("running" if self._opened is not None else "starting"))
        spent = self._opened is not None and now - self._opened >= self._spec.budget_seconds
        return spent or self._recorder.saw_cut or self._recorder.stop_reason is not None

    def end(self) -> None:
        if self._opened is None and self._recorder.stop_reason is None:
            ray.wait([self._opening])
            self._open(self._clock.now())
        self._report(self.progress("closing"))

    def progress(self, phase: str) -> CellProgress:
        recorder, ended = self._recorder, self._recorder.counts.ended
        elapsed = 0.0 if self._opened is None else self._clock.now() - self._opened
        held = min(elapsed * self._spec.devices.held, self._spec.budget_device_seconds)
        best = recorder.incumbent
        return CellProgress(
            phase=phase,
            running=recorder.counts.running,
            paused=recorder.counts.paused,
            stopped=ended["stopped"],
            finished=ended["finished"],
            failed=ended["failed"] + ended["diverged"],
            epochs=recorder.epochs,
            held_device_seconds=held,
            incumbent=None if best is None else best.validation_score,
            test_of_incumbent=None if best is None else best.test_score,
        )

    def _open(self, now: float) -> None:
        self.setup_seconds = now - self._started
        try:
            ray.get(self._opening)
            self._opened = now
        except ray.exceptions.RayTaskError as error:
            if not isinstance(error.cause, EpochError):
                raise
            self._recorder.stop_reason = f"the worker groups did not start: {error.cause}"


def _make_pool(spec: CellSpec, benchmark: Benchmark, storage: Storage) -> Any:
    train_spec = TrainRunSpec(
        benchmark=benchmark,
        dataset=spec.dataset,
        data_seed=spec.study.data_seed,
        workers=spec.devices.workers_per_trial,
        device_kind=spec.devices.kind,
        devices_per_worker=spec.devices.devices_per_worker,
        storage=storage.child("train"),
    )
    calls = spec.devices.slots * (spec.devices.workers_per_trial + 4) + 100
    # On the driver's node, so that both read the same clock.
    here = {f"node:{ray.util.get_node_ip_address()}": 0.001}
    actor = ray.remote(num_cpus=0, max_concurrency=calls, resources=here)(WorkerPool)
    return actor.remote(spec.devices.slots, train_spec)


def _tuner(spec: CellSpec, parts: _Parts, pool: Any, storage: Storage, watch: _Watch) -> Any:
    benchmark, plan, slots = parts.benchmark, parts.plan, spec.devices.slots
    os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(slots)
    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = str(10 * spec.budget_seconds + 3600)
    trainable = tune.with_parameters(
        TrialActor, pool=pool, training_seed=spec.seed, metric=benchmark.metric
    )
    # Trial actors do next to nothing, but exactly one per slot may live at a time. The workers hold
    # all the devices, so what limits the actors is a share of this node's own label.
    share = int(10_000 * 0.9 / slots) / 10_000
    bundle = {"CPU": 0.0, f"node:{ray.util.get_node_ip_address()}": share}
    numbers = itertools.count()
    names: dict[str, str] = {}

    def name_of(trial: Any) -> str:
        if trial.trial_id not in names:
            names[trial.trial_id] = trial_name(next(numbers))
        return names[trial.trial_id]

    is_random = isinstance(plan.searcher, BasicVariantGenerator)
    return tune.Tuner(
        tune.with_resources(trainable, tune.PlacementGroupFactory([bundle])),
        param_space=dict(parts.problem.space) if is_random else {},
        tune_config=tune.TuneConfig(
            num_samples=-1,
            search_alg=parts.searcher,
            scheduler=parts.scheduler,
            reuse_actors=True,
            trial_name_creator=name_of,
            trial_dirname_creator=name_of,
        ),
        run_config=tune.RunConfig(
            name="tune",
            storage_path=storage.path,
            storage_filesystem=storage.filesystem,
            stop=CellStopper(watch.is_over),
            callbacks=[parts.recorder],
            failure_config=tune.FailureConfig(max_failures=1),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=plan.keep_checkpoints),
            verbose=0,
        ),
    )


def _record(
    spec: CellSpec,
    parts: _Parts,
    folder: Path,
    account: PoolAccount,
    setup_seconds: float,
    wall_seconds: float,
) -> CellRecord:
    recorder, plan = parts.recorder, parts.plan
    scale = spec.devices_per_slot
    rows: dict[tuple[int | None, Any], float] = {}
    for charge in account.charges:
        key = (charge.trial, charge.kind)
        rows[key] = rows.get(key, 0.0) + charge.seconds * scale
    status, reason = _outcome(spec, recorder, account)
    events = (folder / "events.jsonl").read_bytes()
    return CellRecord(
        strategy=spec.strategy,
        seed=spec.seed,
        status=status,
        reason=reason,
        max_epochs=parts.benchmark.max_epochs,
        rungs=list(plan.rungs),
        settings=dict(plan.settings),
        warnings=[*plan.warnings, *recorder.warnings],
        slots=spec.devices.slots,
        devices=spec.devices.held,
        budget_device_seconds=spec.budget_device_seconds,
        held_device_seconds=account.ended_s * spec.devices.held,
        setup_seconds=setup_seconds,
        wall_seconds=wall_seconds,
        searcher_seconds=parts.told.seconds if parts.told else 0.0,
        ledger=[
            LedgerRow(trial=trial, kind=kind, device_seconds=seconds)
            for (trial, kind), seconds in rows.items()
        ],
        in_flight=[
            InFlight(
                trial=trial,
                epoch=recorder.epoch_under_way(trial),
                device_seconds=seconds * scale,
            )
            for trial, seconds in account.in_flight
        ],
        incumbent=recorder.incumbent,
        trials=dict(recorder.counts.ended),
        events=events.count(b"\n"),
        events_sha256=hashlib.sha256(events).hexdigest(),
    )


def _outcome(spec: CellSpec, recorder: Recorder, account: PoolAccount) -> tuple[CellStatus, str]:
    """How a cell ended, and why, in one line."""
    if recorder.stop_reason is not None:
        return "failed", recorder.stop_reason
    if recorder.epochs == 0 and not recorder.counts.ended["failed"]:
        return "failed", "no epoch fitted into the budget"
    if recorder.incumbent is None:
        return "failed", "no valid result: every trial failed or diverged"
    if account.ended_s < spec.budget_seconds:
        share = account.ended_s / spec.budget_seconds
        return "completed", f"the searcher ended after {share:.0%} of the budget"
    return "completed", "the budget was spent"
