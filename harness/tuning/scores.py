"""The cell's scores so far, as far as failures need them: told as the worst finite one."""

from __future__ import annotations

import math

from harness.contract import Mode


class Scoreboard:
    """Knows the worst finite score that was reported in a cell so far.

    Trials, by Tune's id, that failed do not count: a score from before a crash may be anything (0,
    the best loss there is), and would then be told as the worst.
    """

    def __init__(self, mode: Mode) -> None:
        self._worse = min if mode == "max" else max
        self._worst_of: dict[str, float] = {}
        self.worst: float | None = None

    def report(self, trial_id: str, score: float) -> None:
        """Take in a reported score; NaN and ±inf are none."""
        if not math.isfinite(score):
            return
        self._worst_of[trial_id] = self._worse(self._worst_of.get(trial_id, score), score)
        self.worst = score if self.worst is None else self._worse(self.worst, score)

    def withdraw(self, trial_id: str) -> None:
        """A trial has failed: forget what it reported."""
        if self._worst_of.pop(trial_id, None) == self.worst:
            self.worst = self._worse(self._worst_of.values(), default=None)

    def as_told(self, score: float | None) -> float | None:
        """What searchers and schedulers hear: a failure or non-finite score counts as the worst
        finite one so far; ``None`` while there is none."""
        if score is not None and math.isfinite(score):
            return score
        return self.worst
