"""What stopped trials would have come to: exact, and without a trace in anything else."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pydantic.dataclasses import dataclass
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler

from benchmarks.analytic import ConditionalSpace, HartmannPowerLaw, NoisyQuadratic, SlowStarters
from benchmarks.analytic.slow_starters import EVALUATION_SD, VALIDATION, SlowStartersCurve
from benchmarks.noise import Noise
from benchmarks.testing import check_benchmark
from harness.contract import Benchmark, Config, Plan, Problem, Session, Strategy, Worker
from harness.contract.records import Unstopped
from harness.virtual.seats import Seat
from strategies.searchers import random_search
from tests.harness.virtual_cells import VirtualCell, run_virtual
from tests.harness.virtual_toys import (
    FAULTS,
    Clockwork,
    ClockworkMin,
    ClockworkSession,
    HeavyClockwork,
)

NAN = math.nan

BENCHMARKS: list[Benchmark] = [
    NoisyQuadratic(max_epochs=9),
    HartmannPowerLaw(max_epochs=9),
    SlowStarters(max_epochs=9),
    ConditionalSpace(max_epochs=9),
    Clockwork(faults="none,nan"),
    ClockworkMin(),
]


class StopsAfter(FIFOScheduler):
    def __init__(self, epoch: int) -> None:
        super().__init__()
        self._epoch = epoch

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        stops = result["training_iteration"] >= self._epoch
        return str(TrialScheduler.STOP if stops else TrialScheduler.CONTINUE)


def stopping(scheduler: Any, **about: Any) -> Strategy:
    def build(problem: Problem) -> Plan:
        return Plan(searcher=random_search(problem)[0], scheduler=scheduler(problem))

    return Strategy(
        name="random/test", summary="of a test", searcher="random", scheduler="test", build=build,
        **about,
    )  # fmt: skip


def after(epoch: int, **about: Any) -> Strategy:
    return stopping(lambda problem: StopsAfter(epoch), **about)


# By hand ----------------------------------------------------------------------------------------


class ListedSession(Session):
    """Reports what is listed; ``raise`` and ``nothing`` are what happens there."""

    trained = 0

    def __init__(self, listed: str) -> None:
        self._listed = listed.split()

    def start(self, config: Config, seed: int) -> None:
        self._epoch = 0

    def train_epoch(self) -> Mapping[str, float]:
        self._epoch += 1
        ListedSession.trained = max(ListedSession.trained, self._epoch)
        if self._listed[self._epoch - 1] == "raise":
            raise ValueError("a session in trouble")
        return {}

    def evaluate(self) -> Mapping[str, float]:
        score = self._listed[self._epoch - 1]
        return {} if score == "nothing" else {"score": float(score)}

    def state(self) -> Mapping[str, Any]:
        return {"epoch": self._epoch}

    def load(self, state: Mapping[str, Any]) -> None:
        self._epoch = state["epoch"]


class KnownSession(ListedSession):
    """Knows them without training."""

    def scores_ahead(self, epochs: int) -> Any:
        return np.array([float(x) for x in self._listed[self._epoch : self._epoch + epochs]])


@dataclass(frozen=True)
class Listed(Clockwork):
    name = "listed"
    test_metric = None
    loss_metric = None

    scores: str = ""
    is_known: bool = False

    def session(self, worker: Worker, dataset: Any, data_seed: int) -> Session:
        return (KnownSession if self.is_known else ListedSession)(self.scores)


class ListedMin(Listed):
    name = "listed_min"
    mode = "min"


def listed(scores: str, kind: type[Listed] = Listed, **options: Any) -> Listed:
    return kind(scores=scores, max_epochs=len(scores.split()), **options)


def unstopped(cell: VirtualCell) -> list[Unstopped | None]:
    ends = cell.ends("stopped")
    assert len(ends) > 3
    assert not any(end.unstopped for end in cell.ends() if end.status != "stopped")
    return [end.unstopped for end in ends]


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    ("scores", "kind", "best", "last"),
    [
        ("1 2 5 3", Listed, 5.0, 3.0),
        ("1 2 5 3", ListedMin, 1.0, 3.0),
        ("7 2 5 3", Listed, 7.0, 3.0),
        ("7 2 0.5 3", ListedMin, 0.5, 3.0),
        ("1 2 3 nan", Listed, 3.0, NAN),
        ("4 3 2 inf", Listed, 4.0, NAN),
        ("4 3 2 -inf", ListedMin, 2.0, NAN),
        ("4 3 nan", ListedMin, 3.0, NAN),
    ],
)
def test_best_is_of_all_epochs_and_last_is_at_the_cap(
    scores: str, kind: type[Listed], best: float, last: float, is_known: bool
) -> None:
    cell = run_virtual(after(2), listed(scores, kind, is_known=is_known))
    assert {repr(found) for found in unstopped(cell)} == {repr(Unstopped(best=best, last=last))}
    written = [
        json.loads(line)["unstopped"] for line in cell.events.splitlines() if b'"end"' in line
    ]
    as_json = {"best": best, "last": "NaN" if math.isnan(last) else last}
    assert [found for found in written if found] == [as_json] * len(cell.ends("stopped"))


def test_training_ends_at_the_first_score_that_is_not_finite() -> None:
    ListedSession.trained = 0
    cell = run_virtual(after(1), listed("1 2 nan 9 9"))
    assert {repr(found) for found in unstopped(cell)} == {repr(Unstopped(best=2.0, last=NAN))}
    assert ListedSession.trained == 3


@pytest.mark.parametrize("trouble", ["raise", "nothing"])
def test_a_session_in_trouble_leaves_it_unknown(trouble: str) -> None:
    cell = run_virtual(after(1), listed(f"1 2 {trouble} 4"))
    assert set(unstopped(cell)) == {None}
    assert not cell.ends("failed") and not cell.ends(retried=True)
    assert cell.record.status == "completed"


def test_a_trial_that_reaches_the_cap_has_nothing_ahead() -> None:
    cell = run_virtual(after(4), listed("1 2 5 3"))
    assert not cell.ends("stopped") and cell.ends("finished")
    assert not any(end.unstopped for end in cell.ends())


def test_costly_sessions_and_changing_configurations_leave_it_unknown() -> None:
    assert set(unstopped(run_virtual("random/asha", HeavyClockwork()))) == {None}
    assert set(unstopped(run_virtual(after(2, changes_config=True), Clockwork()))) == {None}
    cell = run_virtual("pbt", Clockwork(), trainings=16)
    assert len(cell.ends()) > 3 and not any(end.unstopped for end in cell.ends())


def test_the_contract_refuses_what_training_does_not_give() -> None:
    config = {"x": 0.5, "fault": "none"}
    check_benchmark(listed("1 2 3", is_known=True), config)

    class Lies(KnownSession):
        def scores_ahead(self, epochs: int) -> Any:
            return [2.0, 4.0]

    class Lying(Listed):
        def session(self, worker: Worker, dataset: Any, data_seed: int) -> Session:
            return Lies(self.scores)

    with pytest.raises(AssertionError, match=r"what training gives\[1\] differ"):
        check_benchmark(listed("1 2 3", Lying), config)


# Trained again ----------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["random/asha", "optuna/asha"])
@pytest.mark.parametrize("benchmark_", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_it_is_what_the_trial_comes_to_when_it_is_not_stopped(
    strategy: str, benchmark_: Benchmark
) -> None:
    seed = 4
    cell = run_virtual(strategy, benchmark_, slots=3, seed=seed)
    session = benchmark_.session(Worker(), benchmark_.find_data(None), 0)
    pick = max if benchmark_.mode == "max" else min
    for end in cell.ends("stopped"):
        session.start(dict(end.config), seed)
        scores: list[float] = []
        while len(scores) < benchmark_.max_epochs and not (scores and math.isnan(scores[-1])):
            metrics = {**session.train_epoch(), **session.evaluate()}
            scores.append(metrics[benchmark_.metric])
        expected = Unstopped(best=pick(filter(math.isfinite, scores)), last=scores[-1])
        assert repr(end.unstopped) == repr(expected)
    lasts = [found.last for found in unstopped(cell) if found]
    if isinstance(benchmark_, Clockwork) and "nan" in benchmark_.faults:
        assert any(map(math.isnan, lasts)) and not all(map(math.isnan, lasts))


def test_slow_starters_by_their_formula() -> None:
    cap, seed = 27, 2
    cell = run_virtual("random/asha", SlowStarters(max_epochs=cap), slots=3, seed=seed)
    regretted = 0
    for end in cell.ends("stopped"):
        curve = SlowStartersCurve(end.config, seed, cap)
        noise = Noise(end.config, seed)
        scores = [
            curve._expected(epoch) + EVALUATION_SD * noise.normal(VALIDATION, epoch)
            for epoch in range(1, cap + 1)
        ]
        assert end.unstopped == Unstopped(best=max(scores), last=scores[-1])
        assert cell.record.incumbent is not None
        regretted += max(scores) > cell.record.incumbent.validation_score
    assert regretted > 0, "ASHA stops winners here"


# Without a trace --------------------------------------------------------------------------------


class DrawingSession(ClockworkSession):
    """Draws from the global random states, as a session should not."""

    def train_epoch(self) -> Mapping[str, float]:
        seed = 1000 * self._seed + len(self._trained)
        random.seed(seed)
        np.random.seed(seed)
        return super().train_epoch()


class Drawing(Clockwork):
    name = "drawing"

    def session(self, worker: Worker, dataset: Any, data_seed: int) -> Session:
        return DrawingSession(1.0)


def brackets(problem: Problem) -> TrialScheduler:
    """Draws a trial's bracket from numpy's global random state."""
    return AsyncHyperBandScheduler(
        metric=problem.metric, mode=problem.mode, max_t=problem.max_epochs, brackets=3,
        reduction_factor=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    "strategy",
    ["random/asha", "optuna/asha", "hyperopt/asha", "pbt", stopping(brackets)],
    ids=lambda strategy: strategy if isinstance(strategy, str) else "brackets",
)
@pytest.mark.parametrize(
    "benchmark_",
    [Clockwork(faults=",".join(FAULTS)), Drawing(), NoisyQuadratic(max_epochs=9)],
    ids=lambda benchmark: benchmark.name,
)
def test_all_else_is_as_if_nobody_had_looked(
    strategy: Any, benchmark_: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"slots": 3, "trainings": 10, "seed": 8}
    looked = run_virtual(strategy, benchmark_, **settings)
    assert (strategy == "pbt") != any(end.unstopped for end in looked.ends("stopped"))
    monkeypatch.setattr(Seat, "scores_ahead", lambda *_: None)
    blind = run_virtual(strategy, benchmark_, **settings)
    assert repr(looked.lines_without_hindsight) == repr(blind.lines)
    other = {"events_sha256"}
    assert looked.record.model_dump(exclude=other) == blind.record.model_dump(exclude=other)
