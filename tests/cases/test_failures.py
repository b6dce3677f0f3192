"""Cases from the field: trials that fail, diverge or report nothing. See README.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from optuna.trial import TrialState
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from harness.contract import Config, Plan, Problem
from harness.contract.records import Report
from strategies.asha import asha
from strategies.registry import STRATEGIES
from tests.cases.scripted import Scripted, strategy, trying
from tests.harness.virtual_cells import NO_COSTS, VirtualCell, run_virtual

A_THIRD_FAILS = {"lr": tune.uniform(0.0, 0.075), "momentum": tune.uniform(0.0, 1.0)}
"""With lr above 0.05, and the best just below."""


def _good_below_005(config: Config) -> float:
    return 1.0 - 4 * abs(config["lr"] - 0.04) - 0.1 * (config["momentum"] - 0.5) ** 2


def _raises_above_005(config: Config, epoch: int) -> float:
    if config["lr"] > 0.05:
        raise ValueError("cannot train so fast")
    return _good_below_005(config)


def _nan_above_005(config: Config, epoch: int) -> float:
    return math.nan if config["lr"] > 0.05 else _good_below_005(config)


def _share_of_bad_trials(name: str, score: Callable[[Config, int], float]) -> float:
    """Of trials 20 to 60, the share that failed or diverged; over three seeds."""
    bad: list[bool] = []
    for seed in range(3):
        benchmark = Scripted(score, max_epochs=1, space=A_THIRD_FAILS)
        cell = run_virtual(name, benchmark, slots=1, trainings=100, seed=seed, costs=NO_COSTS)
        statuses = [end.status for end in sorted(cell.ends(), key=lambda end: end.trial)]
        bad += [status in ("failed", "diverged") for status in statuses[20:60]]
    assert len(bad) == 120
    return sum(bad) / len(bad)


@pytest.mark.parametrize("name", ["optuna/fifo", "hyperopt/asha"])
@pytest.mark.parametrize("score", [_raises_above_005, _nan_above_005])
def test_cases_04_05_a_third_of_the_space_fails(name: str, score: Any) -> None:
    """optuna#2864, hyperopt#662: forgotten or never forgiven, 80 to 100 % of them would fail."""
    assert _share_of_bad_trials(name, score) < 0.34


def test_case_07_nan_at_the_first_epoch_under_asha() -> None:
    """ray#8671: the trial stops, its seconds are charged, its status says diverged."""
    benchmark = Scripted(lambda config, epoch: math.nan if config["x"] > 0.5 else config["x"])
    cell = run_virtual("random/asha", benchmark, slots=2, trainings=6, costs=NO_COSTS)
    diverged = cell.ends("diverged")
    assert diverged and all(end.config["x"] > 0.5 and end.epoch == 1 for end in diverged)
    assert all(cell.held_by(end.trial)["train"] == 10.0 for end in diverged)
    assert cell.record.incumbent is not None and cell.record.incumbent.config["x"] <= 0.5


def test_case_08_no_trial_is_left_running_in_optunas_study() -> None:
    """optuna#136: 17 of 40 trials end in NaN."""
    searchers: list[OptunaSearch] = []

    def build(problem: Problem) -> Plan:
        plan = STRATEGIES.get("optuna/fifo").build(problem)
        searchers.append(plan.searcher.searcher)  # below its limit of trials at once
        return plan

    seen: list[float] = []

    def nan_for_17_of_40(config: Config, epoch: int) -> float:
        seen.append(config["x"])
        return math.nan if len(seen) % 2 == 0 and len(seen) <= 34 else config["x"]

    # 40 trials of one epoch each, and the budget ends with the last.
    benchmark = Scripted(nan_for_17_of_40, max_epochs=1)
    cell = run_virtual(strategy(build), benchmark, slots=1, trainings=40, costs=NO_COSTS)
    assert (len(cell.ends("diverged")), len(cell.ends("finished"))) == (17, 23)
    (searcher,) = searchers
    states = [trial.state for trial in searcher._ot_study.trials]
    ended = states[:40]
    assert ended == [TrialState.COMPLETE] * 40
    assert len(states) - len(ended) == len(cell.ends("cut"))


def test_case_09_a_single_trial_of_nan() -> None:
    """ray#9381: no valid result, and no incumbent."""
    cell = run_virtual(trying([0.5]), Scripted(lambda config, epoch: math.nan), slots=1)
    assert [end.status for end in cell.ends()] == ["diverged"]
    assert (cell.record.status, cell.record.incumbent) == ("failed", None)
    assert cell.record.reason == "no valid result: every trial failed or diverged"


def _zero_then_raises(config: Config, epoch: int) -> float:
    if config["x"] < 0.5 and epoch == 2:
        raise RuntimeError("out of memory")
    return 0.0 if config["x"] < 0.5 else 2.0 - config["x"] / epoch


def _best_of_the_sound(cell: VirtualCell) -> float:
    failed = {end.trial for end in cell.ends("failed")}
    return min(r.validation_score for r in cell.reports if r.trial not in failed)


def test_case_10_zero_and_then_a_failure_is_no_winner() -> None:
    """ray PR#26655: with mode min, what crashed looks like the best."""
    points = [0.1, 0.9, 0.2, 0.7, 0.3]
    cell = run_virtual(trying(points), Scripted(_zero_then_raises, mode="min"), slots=2)
    assert [end.config["x"] for end in cell.ends("failed")] == [0.1, 0.2, 0.3]
    best = cell.record.incumbent
    assert best is not None and best.config["x"] == 0.9
    assert best.validation_score == _best_of_the_sound(cell) > 0.0
    # Nor is a failure told as the best there is.
    assert all(end.told_score != 0.0 for end in cell.ends("failed"))


def test_case_10_every_trial_failed_and_so_the_cell_did() -> None:
    """Also the one that was under way at the cut, of which nobody knows it yet. (What the command
    then exits with: ``tests/harness/test_cluster_cases.py``.)"""
    benchmark = Scripted(_zero_then_raises, mode="min", space={"x": tune.uniform(0.0, 0.4)})
    cell = run_virtual("random/fifo", benchmark, slots=1, seconds=115, costs=NO_COSTS)
    assert len(cell.ends("failed")) == 3 and len(cell.ends("cut")) == 1
    assert cell.reports[-1].trial == cell.ends("cut")[0].trial
    assert cell.record.status == "failed"
    assert cell.record.reason == "no valid result: all 3 trials that came to an end failed"


def test_case_11_one_configuration_reports_without_the_metric() -> None:
    """ultralytics#19574: that trial fails with the metric's name; the others go on."""
    benchmark = Scripted(lambda config, epoch: None if config["x"] == 0.2 else config["x"])
    cell = run_virtual(trying([0.1, 0.2, 0.3]), benchmark, slots=1, trainings=6)
    (failed,) = cell.ends("failed")
    assert failed.config == {"x": 0.2}
    assert failed.reason == "the benchmark reported no 'score'; it reported other"
    assert [end.config["x"] for end in cell.ends("finished")] == [0.1, 0.3]


def test_case_33_a_crashed_trials_score_never_stands_in() -> None:
    """syne-tune#252: one crashes at 0.926, another ends at 0.8478; and the other way round."""
    for crashed, ended in ((0.8478, 0.926), (0.926, 0.8478)):

        def score(config: Config, epoch: int, crashed: float = crashed) -> float:
            if config["x"] == crashed and epoch == 5:
                raise RuntimeError("killed")
            return config["x"] * epoch / 9 if config["x"] != crashed else crashed

        cell = run_virtual(trying([crashed, ended]), Scripted(score), slots=2, trainings=3)
        assert [end.config["x"] for end in cell.ends("failed")] == [crashed]
        best = cell.record.incumbent
        assert best is not None and (best.config["x"], best.epoch) == (ended, 9)


def test_case_33_the_next_best_stands_when_the_best_is_taken_back() -> None:
    """Also where it was no incumbent when it was reported, and its trial is done."""

    def score(config: Config, epoch: int) -> float:
        if config["x"] == 0.9 and epoch == 9:
            raise RuntimeError("killed at the very end")
        return {0.9: 0.9, 0.5: 0.5, 0.3: 0.3 + epoch / 100}[config["x"]]

    cell = run_virtual(trying([0.9, 0.5, 0.3]), Scripted(score), slots=3, trainings=5)
    assert [end.status for end in cell.ends() if end.config["x"] == 0.9] == ["failed"]
    best = cell.record.incumbent
    assert best is not None and (best.validation_score, best.epoch) == (0.5, 1)
    ever = {line.trial for line in cell.lines if isinstance(line, Report) and line.is_incumbent}
    assert ever == {0}


def test_case_14_from_worst_to_best_asha_stops_none() -> None:
    """ray#4401: right for Ray's ASHA. (That the report says so: ``test_pages.py``.)"""
    points = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    benchmark = Scripted(lambda config, epoch: config["x"])
    rising, falling = (
        run_virtual(trying(order, lambda problem: asha(problem)[0]), benchmark, slots=1)
        for order in (points, points[::-1])
    )
    assert not rising.ends("stopped")
    assert len(falling.ends("stopped")) == 5
