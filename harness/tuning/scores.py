"""The cell's scores so far: the incumbent, and the worst finite score that failures are told as."""

from __future__ import annotations

import math

from harness.contract import Mode


class Scoreboard:
    """Knows the best and the worst finite score reported in a cell so far."""

    def __init__(self, mode: Mode) -> None:
        self._sign = 1.0 if mode == "max" else -1.0
        self.best: float | None = None
        self.worst: float | None = None

    def report(self, score: float) -> bool:
        """Take in a reported score; tells whether it is a new best (NaN and ±inf never are)."""
        if not math.isfinite(score):
            return False
        if self.worst is None or self._sign * score < self._sign * self.worst:
            self.worst = score
        if self.best is None or self._sign * score > self._sign * self.best:
            self.best = score
            return True
        return False

    def as_told(self, score: float | None) -> float | None:
        """What searchers and schedulers hear: a failure or non-finite score counts as the worst
        finite one so far; ``None`` while there is none."""
        if score is not None and math.isfinite(score):
            return score
        return self.worst
