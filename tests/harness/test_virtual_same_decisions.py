"""Without what timing decides, a virtual cell and a real one take the same decisions.

One slot, so that results arrive in one order only. The real side is Ray's own actor manager, Tune's
``Tuner`` and the cluster executor's trial actors; only their pool answers at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from benchmarks.analytic import NoisyQuadratic
from harness.clock import MonotonicClock
from harness.cluster.journal import Journal
from harness.cluster.ray_cluster import RayCluster
from harness.cluster.replay import Replay
from harness.cluster.storage import Storage
from harness.cluster.tuning_run import run_tuner
from harness.contract import Benchmark
from harness.contract.records import EventLine, Report
from harness.tuning.cell_tuning import CellTuning
from harness.tuning.searcher import MeasuredTime
from strategies.registry import STRATEGIES
from tests.harness.instant_pool import InstantPool
from tests.harness.virtual_cells import NO_COSTS, make_spec, run_virtual
from tests.harness.virtual_toys import Clockwork

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def pool(cluster: RayCluster) -> Iterator[Any]:
    pool = ray.remote(num_cpus=0)(InstantPool).remote()
    yield pool
    ray.kill(pool)


def story(events: bytes) -> list[dict[str, Any]]:
    """All that was decided and seen, without times; and without those that were cut at the end.

    What stopped trials would have come to, a real cell does not know.
    """
    lines = [EventLine.validate_json(line) for line in events.splitlines()]
    other = {
        "tune_id", "slot", "started_s", "reported_s", "spans", "trial_device_seconds",
        "held_device_seconds", "at_s", "unstopped",
    }  # fmt: skip
    return [
        line.model_dump(exclude=other)
        for line in lines
        if isinstance(line, Report) or line.status != "cut"
    ]


@pytest.mark.parametrize(
    ("strategy", "benchmark_", "trainings"),
    [
        ("random/asha", Clockwork(faults="none,raise,raise_once,nan,no_metric"), 6.0),
        ("optuna/asha", NoisyQuadratic(max_epochs=9), 8.0),
        ("hyperopt/asha", Clockwork(faults="none,none,nan,raise"), 8.0),
        ("pbt", NoisyQuadratic(max_epochs=9), 8.0),
    ],
)
def test_the_same_story(
    pool: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    strategy: str,
    benchmark_: Benchmark,
    trainings: float,
) -> None:
    for name in (
        "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "TUNE_MAX_PENDING_TRIALS_PG",
        "TUNE_GLOBAL_CHECKPOINT_S",
    ):  # fmt: skip
        monkeypatch.setenv(name, "1")  # so that what the run sets is undone
    settings: dict[str, Any] = {"slots": 1, "trainings": trainings, "seed": 4}
    virtual = run_virtual(strategy, benchmark_, costs=NO_COSTS, **settings)
    told = story(virtual.events)

    tuning = CellTuning(
        make_spec(strategy, benchmark_, **settings),
        STRATEGIES.get(strategy),
        benchmark_,
        tmp_path,
        MeasuredTime(MonotonicClock()),
        lambda incumbent, state: None,
        is_followed=True,
    )
    recorder = tuning.recorder
    ray.get(pool.begin.remote(benchmark_, len(virtual.reports)))
    replay = Replay(
        Journal(tmp_path),
        recorder,
        pool.advance.remote,
        pool.reported.remote,
        pool.actor_died.remote,
    )
    run_tuner(tuning, pool, Storage(str(tmp_path / "tune")), lambda: recorder.saw_cut, replay)
    recorder.finish(0.0)
    real = story((tmp_path / "events.jsonl").read_bytes())
    assert len(virtual.reports) > 25
    assert strategy != "pbt" or any(report.parent for report in virtual.reports)
    for line, (ours, rays) in enumerate(zip(told, real, strict=False)):
        assert repr(ours) == repr(rays), f"line {line}"
    assert len(told) == len(real)
