"""HyperOpt's TPE under ASHA. A stopped trial's partial score is told to HyperOpt as if complete."""

from __future__ import annotations

from harness.contract import Plan, Problem, Strategy
from strategies.asha import asha
from strategies.searchers import hyperopt_tpe


def build(problem: Problem) -> Plan:
    searcher, searcher_settings = hyperopt_tpe(problem)
    scheduler, rungs, settings, warnings = asha(problem)
    return Plan(
        searcher=searcher,
        scheduler=scheduler,
        rungs=rungs,
        settings={**searcher_settings, **settings},
        warnings=warnings,
    )


STRATEGY = Strategy(
    name="hyperopt/asha",
    summary="HyperOpt's TPE, weak trials stopped early by ASHA",
    searcher="hyperopt",
    scheduler="asha",
    build=build,
    stops_early=True,
    requires=("hyperopt",),
)
