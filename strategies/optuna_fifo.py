"""Optuna's TPE, every trial to the epochs cap: what a model alone is worth."""

from __future__ import annotations

from harness.contract import Plan, Problem, Strategy
from strategies.fifo import fifo, model_warnings
from strategies.searchers import optuna_tpe


def build(problem: Problem) -> Plan:
    searcher, settings = optuna_tpe(problem)
    return Plan(
        searcher=searcher,
        scheduler=fifo(),
        settings={**settings, "scheduler": "fifo"},
        warnings=model_warnings(problem, settings),
    )


STRATEGY = Strategy(
    name="optuna/fifo",
    summary="Optuna's TPE, every trial run to its end",
    searcher="optuna",
    scheduler="fifo",
    build=build,
    requires=("optuna",),
)
