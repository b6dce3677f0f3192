"""Searchers: seeded, informed early enough, and clear about what they cannot search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import optuna
import pytest
from ray import tune

from harness.contract import UsageError
from strategies.registry import STRATEGIES
from strategies.searchers import hyperopt_tpe, initial_points, optuna_tpe
from strategies.testing import suggest
from tests.strategies.problems import make_problem


@pytest.mark.parametrize("name", STRATEGIES.names())
def test_the_seed_decides_the_suggestions(name: str) -> None:
    strategy = STRATEGIES.get(name)

    def suggestions(seed: int) -> list[dict[str, Any]]:
        # Enough of them that the models act, and not the initial random points alone.
        problem = make_problem(seed=seed)
        return suggest(strategy.build(problem), problem, 12)

    assert len(suggestions(1)) == 12
    assert suggestions(1) == suggestions(1) != suggestions(2)


def test_the_scheduler_does_not_change_the_suggestions() -> None:
    problem = make_problem(seed=5)
    for searcher in ("random", "optuna"):
        with_fifo, with_asha = (
            suggest(STRATEGIES.get(f"{searcher}/{scheduler}").build(problem), problem, 8)
            for scheduler in ("fifo", "asha")
        )
        assert with_fifo == with_asha


@pytest.mark.parametrize(
    ("full_runs", "points"), [(0.5, 4), (5.0, 4), (10.0, 5), (16.0, 8), (20.0, 10), (500.0, 10)]
)
def test_initial_points(full_runs: float, points: int) -> None:
    assert initial_points(make_problem(max_epochs=9, budget_epochs=9 * full_runs)) == points


@pytest.mark.parametrize("build", [optuna_tpe, hyperopt_tpe])
def test_the_model_learns(build: Any) -> None:
    """Told that small learning rates are better, it proposes smaller ones than at random."""
    problem = make_problem(mode="min")
    searcher, settings = build(problem)
    rates = []
    for index in range(40):
        config = searcher.suggest(str(index))
        rates.append(config["lr"])
        result = {"accuracy": config["lr"], "training_iteration": 9}
        searcher.on_trial_complete(str(index), result)
    late, random_median = sorted(rates[20:])[10], 10**-2.5
    assert late < random_median / 3
    assert settings["initial_points"] == 4


@pytest.mark.parametrize("build", [optuna_tpe, hyperopt_tpe])
def test_no_more_configurations_than_slots_at_a_time(build: Any) -> None:
    searcher, _ = build(make_problem(slots=2))
    assert [searcher.suggest(str(index)) is None for index in range(3)] == [False, False, True]


def test_random_search_holds_one_trial_per_slot() -> None:
    for slots in (1, 3):
        plan = STRATEGIES.get("random/fifo").build(make_problem(slots=slots))
        assert plan.searcher.max_concurrent == slots


def test_optunas_defaults_are_recorded() -> None:
    _, settings = optuna_tpe(make_problem())
    sampler = settings["sampler"]
    assert sampler["n_startup_trials"] == settings["initial_points"]
    assert {"constant_liar", "multivariate", "n_ei_candidates", "group"} <= set(sampler)
    assert "seed" not in sampler


def test_optuna_is_quiet() -> None:
    optuna_tpe(make_problem())
    assert optuna.logging.get_verbosity() >= optuna.logging.WARNING


@pytest.mark.parametrize("build", [optuna_tpe, hyperopt_tpe])
@pytest.mark.parametrize(
    "domain",
    [
        tune.sample_from(lambda spec: 1),
        tune.grid_search([1, 2]),
        tune.choice([tune.uniform(0, 1), 3]),
        tune.choice([[1, 2], [3]]),
        object(),
    ],
)
def test_what_a_model_cannot_search_is_refused_by_name(build: Any, domain: Any) -> None:
    problem = make_problem()
    problem = replace(problem, space={**problem.space, "odd": domain})
    with pytest.raises(UsageError, match="cannot search parameter 'odd'"):
        build(problem)


@pytest.mark.parametrize("name", STRATEGIES.names())
def test_a_constant_of_the_space_is_in_every_suggestion(name: str) -> None:
    problem = make_problem()
    problem = replace(problem, space={**problem.space, "optimizer": "adam"})
    for config in suggest(STRATEGIES.get(name).build(problem), problem, 6):
        assert config["optimizer"] == "adam"


def test_a_budget_spent_before_the_model_acts_is_warned_about() -> None:
    strategy = STRATEGIES.get("optuna/fifo")
    assert "its model is hardly used" in strategy.build(make_problem(budget_epochs=27)).warnings[0]
    assert strategy.build(make_problem(budget_epochs=90)).warnings == ()
