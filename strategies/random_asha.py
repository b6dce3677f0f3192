"""Random search under ASHA: what early stopping alone is worth."""

from __future__ import annotations

from harness.contract import Plan, Problem, Strategy
from strategies.asha import asha
from strategies.searchers import random_search


def build(problem: Problem) -> Plan:
    searcher, searcher_settings = random_search(problem)
    scheduler, rungs, settings, warnings = asha(problem)
    return Plan(
        searcher=searcher,
        scheduler=scheduler,
        rungs=rungs,
        settings={**searcher_settings, **settings},
        warnings=warnings,
    )


STRATEGY = Strategy(
    name="random/asha",
    summary="Random search, weak trials stopped early by ASHA",
    searcher="random",
    scheduler="asha",
    build=build,
    stops_early=True,
)
