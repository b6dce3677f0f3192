"""A strategy file with a searcher of its own: a few points of the toys' space, then no more."""

from __future__ import annotations

from typing import Any

from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from harness.contract import Plan, Problem, Strategy


class Gives(Searcher):
    """So many configurations, then ``afterwards`` for ever."""

    def __init__(self, count: int, afterwards: Any) -> None:
        super().__init__(metric="score", mode="max")
        self._left, self._afterwards = count, afterwards

    def suggest(self, trial_id: str) -> Any:
        if self._left == 0:
            return self._afterwards
        self._left -= 1
        return {"x": 1 / (2 + self._left), "fault": "none"}

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None: ...

    def save(self, checkpoint_path: str) -> None: ...

    def restore(self, checkpoint_path: str) -> None: ...


def build(problem: Problem) -> Plan:
    return Plan(searcher=Gives(4, Searcher.FINISHED), scheduler=FIFOScheduler())


STRATEGY = Strategy(
    name="four-points/fifo",
    summary="four points and no more",
    searcher="four-points",
    scheduler="fifo",
    build=build,
)
