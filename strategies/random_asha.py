"""Random search under ASHA: what early stopping alone is worth."""

from __future__ import annotations

from harness.contract import Plan, Problem, Strategy
from strategies.asha import under_asha
from strategies.searchers import random_search


def build(problem: Problem) -> Plan:
    return under_asha(problem, random_search)


STRATEGY = Strategy(
    name="random/asha",
    summary="Random search, weak trials stopped early by ASHA",
    searcher="random",
    scheduler="asha",
    build=build,
    stops_early=True,
)
