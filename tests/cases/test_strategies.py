"""Cases from the field: what schedulers and searchers do, and what they cost. See README.md."""

from __future__ import annotations

from typing import Any

import pytest
from ray import tune
from ray.tune.schedulers import PopulationBasedTraining

from harness.cluster.storage import Storage
from harness.cluster.train_spec import TrainRunSpec
from harness.contract import Dataset, Plan, Problem, Strategy, UsageError
from harness.devices import ClusterDevices, decide_devices
from harness.problem import make_problem
from harness.study import StudyConfig
from strategies.check import build_plan
from strategies.registry import STRATEGIES
from strategies.searchers import random_search
from tests.cases.scripted import Scripted, strategy
from tests.harness.case_strategies import WAITING
from tests.harness.virtual_cells import NO_COSTS, SOME_COSTS, run_virtual
from tests.harness.virtual_toys import Clockwork, ClockworkWithoutCheckpoints

PBT = {"needs_checkpoints": True, "changes_config": True}


def pbt_of_two(quantile_fraction: float) -> Strategy:
    """Ray's own PBT with a population of two."""

    def build(problem: Problem) -> Plan:
        searcher, _ = random_search(problem, max_concurrent=2)
        scheduler = PopulationBasedTraining(
            time_attr="training_iteration",
            metric=problem.metric,
            mode=problem.mode,
            perturbation_interval=2,
            hyperparam_mutations={"x": tune.uniform(0.0, 1.0)},
            quantile_fraction=quantile_fraction,
            log_config=False,
        )
        return Plan(searcher=searcher, scheduler=scheduler, keep_checkpoints=4)

    return strategy(build, **PBT)


def test_case_03_pbt_without_checkpoints_is_refused() -> None:
    """ray#27170. (Through the command: ``tests/harness/test_cluster_cases.py``.)"""
    with pytest.raises(UsageError, match="needs checkpoints, which this benchmark does not give"):
        run_virtual(pbt_of_two(0.25), ClockworkWithoutCheckpoints(), slots=2)


def test_case_03_pbt_that_never_exploited_is_invalid() -> None:
    """ray#27170: it ran as a random search, and nobody would know."""
    sound = run_virtual(pbt_of_two(0.25), Clockwork(), slots=2, trainings=4)
    assert any(report.parent is not None for report in sound.reports)
    assert sound.record.status == "completed"
    idle = run_virtual(pbt_of_two(0.0), Clockwork(), slots=2, trainings=4)
    assert not any(report.parent is not None for report in idle.reports)
    assert idle.record.status == "failed"
    assert idle.record.reason.startswith("invalid: PBT never exploited, though 4 members came")
    # Where nobody came so far, none is missing.
    short = run_virtual(pbt_of_two(0.25), Clockwork(), slots=2, trainings=0.4)
    assert short.record.status == "completed"


def test_case_15_a_benchmark_that_reports_once() -> None:
    """RecBole#1819: it is said before the run (``run`` prints a plan's warnings)."""
    once = make_problem(Scripted(lambda config, epoch: 0.5, max_epochs=1), 2, 40.0, seed=0)
    plan = build_plan(STRATEGIES.get("random/asha"), once, gives_checkpoints=True)
    (warning,) = plan.warnings
    assert warning.startswith("ASHA cannot act: with an epochs cap of 1")


def test_case_22_every_trial_is_paused() -> None:
    """ray#48616: a watchdog ends the cell, with its state shown. (On a cluster:
    ``tests/harness/test_cluster_cases.py``.)"""
    cell = run_virtual(WAITING, Clockwork(), slots=2, seconds=200, costs=NO_COSTS)
    assert cell.record.status == "failed"
    assert cell.record.reason == (
        "stuck: no trial runs, and the scheduler goes on with none of the 3 that are paused "
        "(trial 0 at epoch 1, trial 1 at epoch 1, trial 2 at epoch 1)"
    )
    # Stuck from 24 s on, and given up a quarter of the budget later.
    assert cell.record.held_device_seconds == 2 * (24.0 + 50.0)
    assert sum(row.device_seconds for row in cell.record.ledger) == 2 * (24.0 + 50.0)


@pytest.mark.parametrize(
    ("share", "kind", "backend"), [(0.4, "GPU", "gloo"), (1.0, "GPU", "nccl"), (1.0, "CPU", "gloo")]
)
def test_case_29_two_workers_on_parts_of_a_gpu(share: float, kind: Any, backend: str) -> None:
    """ray#48012: nccl refuses two ranks on one GPU. No GPU was there: this is the decision alone,
    from what is asked for to the group's backend."""
    asked = StudyConfig(devices_per_worker=share, workers_per_trial=2)
    devices = decide_devices(asked, ClusterDevices(kind, "H200", (2.0,)))
    spec = TrainRunSpec(
        benchmark=Clockwork(),
        dataset=Dataset(None, "generated", ""),
        data_seed=0,
        workers=devices.workers_per_trial,
        device_kind=devices.kind,
        devices_per_worker=devices.devices_per_worker,
        storage=Storage("/nowhere"),
    )
    assert spec.backend == backend


def test_case_32_epochs_of_a_twentieth_of_a_second() -> None:
    """ray#11004: the ledger shows overhead against training."""
    benchmark = Scripted(lambda config, epoch: config["x"], epoch_seconds=0.05)
    cell = run_virtual("random/asha", benchmark, slots=2, trainings=50, costs=SOME_COSTS)
    seconds: dict[str, float] = {}
    for row in cell.record.ledger:
        seconds[row.kind] = seconds.get(row.kind, 0.0) + row.device_seconds
    assert sum(seconds.values()) == pytest.approx(cell.record.held_device_seconds)
    assert seconds["train"] == pytest.approx(
        0.05 * len(cell.reports) + sum(flight.device_seconds for flight in cell.record.in_flight)
    )
    assert 0.3 < seconds["idle"] / seconds["train"] < 3, "what lies between epochs is seen"


def test_case_35_the_same_device_hours_not_the_same_trials() -> None:
    """HpBandSter#23."""
    full, stopping = (
        run_virtual(name, Clockwork(), slots=4, trainings=12)
        for name in ("random/fifo", "random/asha")
    )
    assert full.record.held_device_seconds == stopping.record.held_device_seconds
    assert len(stopping.ends()) > 1.5 * len(full.ends())
