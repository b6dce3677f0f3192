"""Random search, every trial to the epochs cap: the baseline of the factorial design."""

from __future__ import annotations

from harness.contract import Plan, Problem, Strategy
from strategies.fifo import fifo
from strategies.searchers import random_search


def build(problem: Problem) -> Plan:
    searcher, settings = random_search(problem)
    return Plan(searcher=searcher, scheduler=fifo(), settings={**settings, "scheduler": "fifo"})


STRATEGY = Strategy(
    name="random/fifo",
    summary="Random search, every trial run to its end",
    searcher="random",
    scheduler="fifo",
    build=build,
)
