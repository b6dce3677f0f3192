"""A cell's incumbent while it runs: the best report of a trial that has not failed.

What a trial reported before it failed counts for nobody, so that the best report may have to be
taken back; then the next best one stands, with its weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from harness.contract import Mode
from harness.contract.records import Incumbent

KeepIncumbent = Callable[[Incumbent | None, Any], None]
"""Called with each new incumbent and its weights, in the executor's own form; ``None`` in place of
weights that are not there any more, and of an incumbent that was taken back and has no successor.
"""

MAX_HELD_STATES = 3
"""Weights held at a time, the best reports' ones: all trials' may be more than a node has."""


class _Candidate(NamedTuple):
    goodness: float
    order: int
    report: Mapping[str, Any]
    state: Any

    @property
    def rank(self) -> tuple[float, int]:
        """Higher is better; of equal scores the earlier stays."""
        return self.goodness, -self.order


class Incumbents:
    """The best reports of a cell's trials, by Tune's trial id.

    Of trials that ended well one is enough; of those that may still fail, all that beat it.
    """

    def __init__(self, mode: Mode, keep: KeepIncumbent) -> None:
        self._sign = 1.0 if mode == "max" else -1.0
        self._keep = keep
        self._count = 0
        self._settled: _Candidate | None = None
        self._open: dict[str, _Candidate] = {}
        self._best: _Candidate | None = None
        self.best: Incumbent | None = None

    def report(self, trial_id: str, report: Mapping[str, Any], state: Any) -> bool:
        """Take in a report (a :class:`Report`'s fields); tells whether it is the incumbent now."""
        score = report["validation_score"]
        if not math.isfinite(score):
            return False
        self._count += 1
        new = _Candidate(self._sign * score, self._count, report, state)
        if any(old and old.rank > new.rank for old in (self._settled, self._open.get(trial_id))):
            return False
        self._open[trial_id] = new
        self._let_go_of_states()
        self._choose()
        return self._best is new

    def ended(self, trial_id: str, *, failed: bool) -> None:
        """A trial will report no more; if it failed, what it reported is forgotten."""
        candidate = self._open.pop(trial_id, None)
        if candidate is None:
            return
        if not failed:
            self._settled = settled = max(
                (c for c in (self._settled, candidate) if c), key=lambda c: c.rank
            )
            self._open = {i: c for i, c in self._open.items() if c.rank > settled.rank}
        self._choose()

    def _choose(self) -> None:
        candidates = [*self._open.values(), *([self._settled] if self._settled else [])]
        best = max(candidates, key=lambda candidate: candidate.rank, default=None)
        if (best and best.order) == (self._best and self._best.order):
            return
        self._best = best
        fields = Incumbent.model_fields
        self.best = Incumbent(**{name: best.report[name] for name in fields}) if best else None
        self._keep(self.best, best.state if best else None)

    def _let_go_of_states(self) -> None:
        by_rank = sorted(self._open.items(), key=lambda item: item[1].rank, reverse=True)
        for trial_id, candidate in by_rank[MAX_HELD_STATES:]:
            self._open[trial_id] = candidate._replace(state=None)
