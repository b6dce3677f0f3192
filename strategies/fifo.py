"""No early stopping: every trial runs to the epochs cap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.contract import Problem

if TYPE_CHECKING:
    from ray.tune.schedulers import FIFOScheduler


def fifo() -> FIFOScheduler:
    """Ray's default scheduler: first in, first out."""
    from ray.tune.schedulers import FIFOScheduler

    return FIFOScheduler()


def model_warnings(problem: Problem, settings: dict[str, Any]) -> tuple[str, ...]:
    """Says so where the budget is spent before a model-based searcher uses its model."""
    full_runs, points = problem.budget_epochs / problem.max_epochs, settings["initial_points"]
    if full_runs > points:
        return ()
    return (
        f"the budget pays for about {full_runs:.1f} full runs, and the first {points} "
        f"configurations of {settings['searcher']} are random: its model is hardly used",
    )
