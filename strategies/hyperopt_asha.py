"""HyperOpt's TPE under ASHA. A stopped trial's partial score is told to HyperOpt as if complete."""

from __future__ import annotations

from harness.contract import Plan, Problem, Strategy
from strategies.asha import under_asha
from strategies.searchers import hyperopt_tpe


def build(problem: Problem) -> Plan:
    return under_asha(problem, hyperopt_tpe)


STRATEGY = Strategy(
    name="hyperopt/asha",
    summary="HyperOpt's TPE, weak trials stopped early by ASHA",
    searcher="hyperopt",
    scheduler="asha",
    build=build,
    stops_early=True,
    requires=("hyperopt",),
)
