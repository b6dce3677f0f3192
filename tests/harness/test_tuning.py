"""What searchers and schedulers are told, and what they never see."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler
from ray.tune.search import ConcurrencyLimiter, Searcher
from ray.tune.search.basic_variant import BasicVariantGenerator

from harness.contract import Mode
from harness.tuning.recorder import kind_of_failure
from harness.tuning.results import EXTRA, FAILED
from harness.tuning.scheduler import RecordingScheduler
from harness.tuning.scores import Scoreboard
from harness.tuning.searcher import MeasuredTime, ToldSearcher, told_searcher

NAN, INF = math.nan, math.inf


class FakeClock:
    def now(self) -> float:
        return 0.0


TIME = MeasuredTime(FakeClock())


class Listener(Searcher):
    """A searcher that notes all that it hears."""

    def __init__(self) -> None:
        super().__init__(metric="score", mode="max")
        self.heard: list[tuple[str, Any]] = []

    def suggest(self, trial_id: str) -> dict[str, Any]:
        return {"x": 1}

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        self.heard.append((trial_id, result))

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        assert not error
        assert result is not None
        self.heard.append((trial_id, result["score"]))

    def save(self, checkpoint_path: str) -> None: ...

    def restore(self, checkpoint_path: str) -> None: ...


class Trial:
    """All that Ray's ASHA and its wrapper ask of a trial."""

    def __init__(self, trial_id: str) -> None:
        self.trial_id = trial_id

    def init_local_path(self) -> None: ...


@pytest.mark.parametrize("mode", ["max", "min"])
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats())))
def test_the_scoreboard(mode: Mode, scores: list[tuple[str, float]]) -> None:
    board = Scoreboard(mode)
    for trial, score in scores:
        board.report(trial, score)
    worst = min if mode == "max" else max
    finite = [score for _, score in scores if math.isfinite(score)]
    assert board.worst == worst(finite, default=None)
    # A trial that failed is as if it had never been.
    board.withdraw("a")
    finite = [score for trial, score in scores if math.isfinite(score) and trial != "a"]
    assert board.worst == worst(finite, default=None)


def told(scores: Scoreboard) -> tuple[ToldSearcher, Listener]:
    listener = Listener()
    return ToldSearcher(listener, "score", scores, TIME), listener


def test_failures_are_told_as_the_worst_finite_score() -> None:
    scores = Scoreboard("max")
    searcher, listener = told(scores)
    for trial, score in (("a", 0.5), ("x", 0.2), ("a", 0.9)):
        scores.report(trial, score)
    searcher.on_trial_complete("a", {"score": 0.9})
    searcher.on_trial_complete("b", {"score": NAN, FAILED: True})
    searcher.on_trial_complete("c", error=True)
    searcher.on_trial_complete("d", {"score": INF})
    searcher.on_trial_complete("e")
    assert listener.heard == [("a", 0.9), ("b", 0.2), ("c", 0.2), ("d", 0.2), ("e", 0.2)]
    assert searcher.told == {"a": 0.9, "b": 0.2, "c": 0.2, "d": 0.2, "e": 0.2}


def test_failures_before_any_score_wait_for_it() -> None:
    scores = Scoreboard("min")
    searcher, listener = told(scores)
    searcher.on_trial_complete("a", error=True)
    searcher.on_trial_complete("b", {"score": NAN})
    assert listener.heard == []
    scores.report("c", 3.0)
    searcher.on_trial_complete("c", {"score": 3.0})
    assert listener.heard == [("c", 3.0), ("a", 3.0), ("b", 3.0)]


def test_a_waiting_failure_holds_no_place() -> None:
    limited, _ = told_searcher(
        ConcurrencyLimiter(Listener(), max_concurrent=1), "score", 1, Scoreboard("max"), TIME
    )
    assert isinstance(limited, ConcurrencyLimiter)
    assert limited.suggest("a")
    assert not limited.suggest("b")
    limited.on_trial_complete("a", error=True)
    assert limited.suggest("b")


def test_no_test_score_reaches_a_searcher_or_scheduler() -> None:
    scores = Scoreboard("max")
    searcher, listener = told(scores)
    flat = {"score": 0.5, "training_iteration": 1, EXTRA: {"test_accuracy": 0.4}}
    searcher.on_trial_result("a", flat)
    assert listener.heard == [("a", {"score": 0.5, "training_iteration": 1})]

    seen: list[dict[str, Any]] = []

    class Spy(FIFOScheduler):
        def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
            seen.append(result)
            return TrialScheduler.CONTINUE

    recording(Spy(), scores=scores).on_trial_result(None, Trial("a"), flat)  # type: ignore[arg-type]
    assert seen == [{"score": 0.5, "training_iteration": 1}]


def test_random_search_needs_no_wrapper() -> None:
    random = BasicVariantGenerator()
    assert told_searcher(random, "score", 2, Scoreboard("max"), TIME) == (random, None)


def recording(
    scheduler: TrialScheduler, scores: Scoreboard | None = None, heals: bool = False
) -> RecordingScheduler:
    return RecordingScheduler(
        scheduler,
        metric="score",
        max_epochs=9,
        scores=scores or Scoreboard("max"),
        heals=heals,
    )


def asha() -> AsyncHyperBandScheduler:
    return AsyncHyperBandScheduler(
        metric="score", mode="max", max_t=9, grace_period=1, reduction_factor=2
    )


def decide(scheduler: RecordingScheduler, arrivals: list[tuple[str, int, float]]) -> list[str]:
    decisions = []
    for name, epoch, score in arrivals:
        trial: Any = Trial(name)
        if epoch == 1:
            scheduler.on_trial_add(None, trial)
        scheduler.on_trial_result(None, trial, {"score": score, "training_iteration": epoch})
        decisions.append(scheduler.noted.pop(name))
    return decisions


def test_asha_goes_on_deciding_after_an_infinite_score() -> None:
    """Ray alone: one +inf makes the cutoff NaN, and then nothing is stopped."""
    arrivals = [("a", 1, INF), ("b", 1, 3.0), ("c", 1, 2.0), ("d", 1, 1.0), ("e", 1, NAN)]
    assert decide(recording(asha()), arrivals) == [
        "diverged", "continue", "stop", "stop", "diverged",
    ]  # fmt: skip


def test_scores_from_worst_to_best_stop_none_which_is_rays_asha() -> None:
    arrivals = [(str(i), 1, float(i)) for i in range(6)]
    assert decide(recording(asha()), arrivals) == ["continue"] * 6


def test_the_cap_finishes_a_trial() -> None:
    assert decide(recording(FIFOScheduler()), [("a", 8, 0.5), ("a", 9, 0.6)]) == [
        "continue",
        "finish",
    ]


def test_where_an_exploit_can_heal_nan_goes_on_until_the_cap() -> None:
    scheduler = recording(FIFOScheduler(), heals=True)
    assert decide(scheduler, [("a", 1, NAN), ("b", 1, 0.5), ("a", 2, NAN), ("a", 9, NAN)]) == [
        "continue",
        "continue",
        "continue",
        "diverged",
    ]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("ValueError: x = 0.25 is too much", "ValueError: x = 1e-05 is too much", True),
        ("<Storage object at 0x7f3a9b>", "<Storage object at 0x55d0ef>", True),
        ("no slot-0-a3f9c2d1 in {'b', 'a'}", "no slot-1-bb07e9aa in {'a', 'b'}", True),
        ("ValueError: x = 0.25 is too much", "ValueError: x = 0.25 is too little", False),
        ("CUDA out of memory", "CUDA error: an illegal memory access", False),
    ],
)
def test_which_failures_are_the_same(one: str, other: str, alike: bool) -> None:
    assert (kind_of_failure(one) == kind_of_failure(other)) is alike
