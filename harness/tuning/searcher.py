"""The searcher as the cell sees it: every failure is told the same way, and its time is measured.

How failures are told decides rankings: Optuna forgets failed trials and HyperOpt never forgets an
error, so both keep proposing from a region that fails. Told as the worst finite score, both learn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

from ray.tune.search import ConcurrencyLimiter, SearchAlgorithm, Searcher

from harness.clock import Clock
from harness.contract import Config
from harness.tuning.results import FAILED, without_extras
from harness.tuning.scores import Scoreboard


class SearcherTime(Protocol):
    """What the searcher's calls take: ``seconds`` so far."""

    seconds: float

    def suggesting(self) -> contextlib.AbstractContextManager[None]: ...

    def telling(self) -> contextlib.AbstractContextManager[None]: ...


class Turn(Protocol):
    """When a searcher may suggest."""

    def may_suggest(self) -> bool: ...

    def suggested(self, tune_id: str) -> None:
        """Told of each suggestion, by its trial."""


class MeasuredTime:
    """A :class:`SearcherTime` by a clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seconds = 0.0

    @contextlib.contextmanager
    def suggesting(self) -> Iterator[None]:
        started = self._clock.now()
        yield
        self.seconds += self._clock.now() - started

    telling = suggesting


class ToldSearcher(Searcher):
    """Delegates to a searcher; a failed or diverged trial is told as the worst finite score.

    While no finite score exists, failures wait and are told with the first one.
    """

    def __init__(
        self, searcher: Searcher, metric: str, scores: Scoreboard, time: SearcherTime
    ) -> None:
        super().__init__(metric=searcher.metric or metric, mode=searcher.mode)
        self.searcher = searcher
        self.told: dict[str, float] = {}
        """Tune's trial id → the final score that the searcher heard."""
        self._told_metric = metric
        self._scores = scores
        self._time = time
        self._waiting: list[str] = []
        self.turn: Turn | None = None
        """``None``: always its own."""

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: Config, **spec: Any
    ) -> bool:
        return bool(self.searcher.set_search_properties(metric, mode, config, **spec))

    def suggest(self, trial_id: str) -> Config | None:
        if self.turn is not None and not self.turn.may_suggest():
            return None
        with self._time.suggesting():
            suggestion: Config | None = self.searcher.suggest(trial_id)
        if self.turn is not None and isinstance(suggestion, dict):
            self.turn.suggested(trial_id)
        return suggestion

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        told = self._scores.as_told(result.get(self._told_metric))
        if told is not None:
            clean = {**without_extras(result), self._told_metric: told}
            self.searcher.on_trial_result(trial_id, clean)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        if error or (result is not None and FAILED in result):
            self._scores.withdraw(trial_id)
        score = None if error or result is None else result.get(self._told_metric)
        with self._time.telling():
            self._tell(trial_id, result or {}, self._scores.as_told(score))
            if self._waiting and self._scores.worst is not None:
                waiting, self._waiting = self._waiting, []
                for waiting_id in waiting:
                    self._tell(waiting_id, {}, self._scores.worst)

    def _tell(self, trial_id: str, result: dict[str, Any], told: float | None) -> None:
        if told is None:
            self._waiting.append(trial_id)
            return
        self.told[trial_id] = told
        clean = {**without_extras(result), self._told_metric: told}
        self.searcher.on_trial_complete(trial_id, result=clean, error=False)

    def save(self, checkpoint_path: str) -> None:
        self.searcher.save(checkpoint_path)

    def restore(self, checkpoint_path: str) -> None:
        self.searcher.restore(checkpoint_path)

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Nothing of its own to restore: scores come back with the cell's events."""


def told_searcher(
    searcher: Searcher | SearchAlgorithm,
    metric: str,
    slots: int,
    scores: Scoreboard,
    time: SearcherTime,
) -> tuple[Searcher | SearchAlgorithm, ToldSearcher | None]:
    """Wrap a model-based searcher, inside its concurrency limit (a failure that waits to be told
    must not hold a place). A ``SearchAlgorithm`` (random) learns nothing and is left alone."""
    if isinstance(searcher, SearchAlgorithm):
        return searcher, None
    if isinstance(searcher, ConcurrencyLimiter):
        searcher.searcher = told = ToldSearcher(searcher.searcher, metric, scores, time)
        return searcher, told
    told = ToldSearcher(searcher, metric, scores, time)
    return ConcurrencyLimiter(told, max_concurrent=slots), told
