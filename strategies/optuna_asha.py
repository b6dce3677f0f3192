"""Optuna's TPE under ASHA. A stopped trial's partial score is told to Optuna as if complete."""

from __future__ import annotations

from harness.contract import Plan, Problem, Strategy
from strategies.asha import under_asha
from strategies.searchers import optuna_tpe


def build(problem: Problem) -> Plan:
    return under_asha(problem, optuna_tpe)


STRATEGY = Strategy(
    name="optuna/asha",
    summary="Optuna's TPE, weak trials stopped early by ASHA",
    searcher="optuna",
    scheduler="asha",
    build=build,
    stops_early=True,
    requires=("optuna",),
)
