"""A small problem to build strategies for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ray import tune

from harness.contract import Problem


def make_problem(**changes: Any) -> Problem:
    problem = Problem(
        space={
            "lr": tune.loguniform(1e-4, 1e-1),
            "dropout": tune.uniform(0.1, 0.7),
            "width": tune.randint(32, 513),
            "depth": tune.randint(1, 5),
            "batch": tune.choice([32, 64, 128]),
        },
        mutable=frozenset({"lr", "dropout"}),
        metric="accuracy",
        mode="max",
        max_epochs=9,
        slots=1,
        budget_epochs=45.0,
        seed=0,
    )
    return replace(problem, **changes)
