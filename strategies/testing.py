"""The contract as a test, for strategies of other packages too.

In a test of yours: ``check_strategy(STRATEGY)``. It needs Ray installed but starts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from harness.contract import Config, Plan, Problem, Strategy
from strategies.check import build_plan

SUGGESTIONS = 3


def example_problems() -> Iterator[Problem]:
    """Both modes, long and short caps, one slot and several, a small and an ample budget."""
    from ray import tune

    space = {
        "lr": tune.loguniform(1e-5, 1.0),
        "dropout": tune.uniform(0.0, 0.7),
        "width": tune.randint(32, 513),
        "depth": tune.randint(1, 5),
        "batch": tune.choice([32, 64, 128, 256, 512]),
    }
    base = Problem(
        space=space,
        mutable=frozenset({"lr", "dropout"}),
        metric="accuracy",
        mode="max",
        max_epochs=9,
        slots=1,
        budget_epochs=45.0,
        seed=0,
    )
    yield base
    yield replace(base, seed=2**32 - 1, slots=4, budget_epochs=5_000.0)
    yield replace(base, metric="loss", mode="min", max_epochs=100, slots=2)
    yield replace(base, max_epochs=1, budget_epochs=1.0)
    yield replace(base, mutable=frozenset(space), max_epochs=27, budget_epochs=270.0)


def check_strategy(strategy: Strategy) -> None:
    """Build a strategy for several problems and check what the harness relies on.

    Raises:
        AssertionError: something does not hold; it says what.
        UsageError: a plan is refused (see :func:`strategies.check.check_plan`).
    """
    assert strategy.name == strategy.name.strip() != "", f"the name {strategy.name!r}"
    assert "," not in strategy.name and strategy.name != "all", f"the name {strategy.name!r}"
    assert strategy.summary and "\n" not in strategy.summary, "the summary must be one line"
    for problem in example_problems():
        _check_on(strategy, problem)


def _check_on(strategy: Strategy, problem: Problem) -> None:
    first, again = (build_plan(strategy, problem, True) for _ in range(2))
    assert first.searcher is not again.searcher, "two builds share a searcher"
    assert first.scheduler is not again.scheduler, "two builds share a scheduler"
    json.dumps(dict(first.settings), allow_nan=False)
    assert first.keep_checkpoints >= 1, "keep_checkpoints must be at least 1"
    suggestions = suggest(first, problem, SUGGESTIONS)
    assert suggestions, "the searcher suggests nothing"
    assert suggestions == suggest(again, problem, SUGGESTIONS), (
        "the same seed gives other suggestions: pass problem.seed on"
    )
    for config in suggestions:
        assert set(config) == set(problem.space), f"the parameters of {config}"
        for name, value in config.items():
            assert problem.space[name].is_valid(value), f"{name}={value!r} is outside the space"


def suggest(plan: Plan, problem: Problem, number: int) -> list[Config]:
    """The first configurations of a plan's searcher, each told a score before the next is asked."""
    from ray.tune.search import Searcher

    if not isinstance(plan.searcher, Searcher):
        return _drawn(plan.searcher, problem, number)
    configs: list[Config] = []
    for index in range(number):
        config = plan.searcher.suggest(f"trial-{index}")
        if config is None or config == Searcher.FINISHED:
            break
        configs.append(config)
        result = {problem.metric: index / 10, "training_iteration": problem.max_epochs}
        plan.searcher.on_trial_complete(f"trial-{index}", result)
    return configs


def _drawn(searcher: Any, problem: Problem, number: int) -> list[Config]:
    """What a random searcher draws, as Tune would make it into trials."""
    from ray import tune

    def trainable(config: Config) -> None:
        """Never called: an experiment needs one."""

    experiment = tune.Experiment(
        "example", trainable, config=dict(problem.space), num_samples=number
    )
    searcher.add_configurations([experiment])
    configs: list[Config] = []
    for _ in count():
        trial = searcher.next_trial()
        if trial is None or len(configs) == number:
            break
        configs.append(trial.config)
        searcher.on_trial_complete(trial.trial_id)
    return configs
