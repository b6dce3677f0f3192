"""A strategy file: schedulers that get stuck, and that stop whatever reports."""

from __future__ import annotations

import sys
from typing import Any

from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from harness.contract import Plan, Problem, Strategy
from strategies.searchers import random_search
from tests.harness.virtual_strategy import Gives


class Waiting(FIFOScheduler):
    """Pauses every trial after each report, and starts none that is paused."""

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        return str(TrialScheduler.PAUSE)

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        return next((t for t in tune_controller.get_trials() if t.status == "PENDING"), None)


class StopsAtOnce(FIFOScheduler):
    """It is in the cell's own process, and sees what that has loaded."""

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        not_needed = {"torch", "mlflow", "wandb"} & set(sys.modules)
        assert not not_needed, f"the cell's process has loaded {not_needed}"
        return str(TrialScheduler.STOP)


def build_waiting(problem: Problem) -> Plan:
    searcher, _ = random_search(problem, max_concurrent=3)
    return Plan(searcher=searcher, scheduler=Waiting())


def build_stopping(problem: Problem) -> Plan:
    return Plan(searcher=Gives(13, Searcher.FINISHED), scheduler=StopsAtOnce())


WAITING = Strategy(
    name="waiting",
    summary="three trials that wait for each other",
    searcher="random",
    scheduler="waiting",
    build=build_waiting,
    needs_checkpoints=True,
)
STOPPING = Strategy(
    name="stop-at-once",
    summary="thirteen trials of one epoch each",
    searcher="thirteen",
    scheduler="stop-at-once",
    build=build_stopping,
    stops_early=True,
)
