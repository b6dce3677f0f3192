"""Bad pairs are refused before anything starts, by a message that names what to change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ray import tune
from ray.tune.schedulers import (
    ASHAScheduler,
    FIFOScheduler,
    HyperBandScheduler,
    PopulationBasedTraining,
)
from ray.tune.search import ConcurrencyLimiter, Searcher
from ray.tune.search.basic_variant import BasicVariantGenerator
from ray.tune.search.hyperopt import HyperOptSearch
from ray.tune.search.optuna import OptunaSearch

from harness.contract import Plan, Problem, Strategy, UsageError
from strategies.check import build_plan, misfit, starting_points
from strategies.registry import STRATEGIES
from tests.strategies.problems import make_problem

CHECKPOINTS, NO_CHECKPOINTS = True, False


def strategy(build: Callable[[Problem], Any], **capabilities: Any) -> Strategy:
    return Strategy(
        name="mine", summary="A test", searcher="?", scheduler="?", build=build, **capabilities
    )


def of(searcher: Any, scheduler: Any, **fields: Any) -> Callable[[Problem], Plan]:
    return lambda problem: Plan(searcher=searcher, scheduler=scheduler, **fields)


def optuna(space: dict[str, Any] | None = None, **settings: Any) -> OptunaSearch:
    space = space or dict(make_problem().space)
    settings = {"metric": "accuracy", "mode": "max"} | settings
    return OptunaSearch(space=OptunaSearch.convert_search_space(space), **settings)


def hyperopt(points: list[dict[str, Any]]) -> HyperOptSearch:
    return HyperOptSearch(
        space=HyperOptSearch.convert_search_space(dict(make_problem().space)),
        metric="accuracy",
        mode="max",
        points_to_evaluate=points,
    )


def pbt(mode: str = "max") -> PopulationBasedTraining:
    return PopulationBasedTraining(
        metric="accuracy", mode=mode, hyperparam_mutations={"lr": tune.uniform(0, 1)}
    )


def asha(mode: str | None = "max", metric: str = "accuracy") -> ASHAScheduler:
    return ASHAScheduler(metric=metric, mode=mode, max_t=9)


PBT_CAPABILITIES = {"needs_checkpoints": True, "changes_config": True}


@pytest.mark.parametrize("name", STRATEGIES.names())
def test_built_in_strategies_pass(name: str) -> None:
    plan = build_plan(STRATEGIES.get(name), make_problem(), CHECKPOINTS)
    assert isinstance(plan, Plan)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        # ray PR#7012: one minimises, the other maximises.
        (strategy(of(optuna(mode="min"), asha())), "searcher's mode is 'min', but this"),
        (strategy(of(optuna(), asha(mode="min"))), "scheduler's mode is 'min', but this"),
        (strategy(of(optuna(metric="loss"), asha())), "searcher's metric is 'loss', but"),
        (
            strategy(of(ConcurrencyLimiter(optuna(mode="min"), 2), asha())),
            "searcher's mode is 'min'",
        ),
        (strategy(of(optuna(), asha(mode=None))), "compares trials but has no mode"),
        (strategy(of(optuna(), "asha")), "scheduler must be a ray.tune TrialScheduler, not str"),
        (strategy(of(None, FIFOScheduler())), "searcher must be a ray.tune Searcher, not NoneType"),
        (strategy(lambda problem: 3), "build\\(\\) returned int, not a Plan"),
        (
            strategy(of(optuna(), pbt(), keep_checkpoints=9), **PBT_CAPABILITIES),
            "takes no OptunaSearch: give it a BasicVariantGenerator",
        ),
        (
            strategy(of(BasicVariantGenerator(), pbt(), keep_checkpoints=2), **PBT_CAPABILITIES),
            "keep_checkpoints of 2 or less",
        ),
        (
            strategy(of(BasicVariantGenerator(), pbt()), needs_checkpoints=True),
            "declare changes_config=True",
        ),
        (
            strategy(of(optuna(), HyperBandScheduler(metric="accuracy", mode="max"))),
            "declare needs_checkpoints=True",
        ),
        (strategy(of(optuna(), asha(), rungs=(3, 1))), "rungs must ascend"),
        (strategy(of(optuna(), asha(), rungs=(1, 10))), "at most the epochs cap 9"),
        # ray#14470: a starting point without all parameters.
        (
            strategy(of(BasicVariantGenerator(points_to_evaluate=[{"lr": 0.01}]), asha())),
            "lacks batch, depth, dropout, width",
        ),
        (
            strategy(of(ConcurrencyLimiter(hyperopt([{"lr": 0.01}]), 1), asha())),
            "lacks batch, depth, dropout, width",
        ),
        # BasicVariantGenerator refuses the limiter itself, and the message keeps the reason.
        (
            strategy(lambda problem: of(ConcurrencyLimiter(BasicVariantGenerator(), 1), asha())),
            "cannot be built: RuntimeError",
        ),
        (strategy(lambda problem: 1 / 0), "cannot be built: ZeroDivisionError"),
    ],
)
def test_a_bad_plan_is_refused(bad: Strategy, message: str) -> None:
    with pytest.raises(UsageError, match=f"strategy 'mine'.*{message}"):
        build_plan(bad, make_problem(), CHECKPOINTS)


def test_optunas_incomplete_starting_point_is_named() -> None:
    bad = strategy(lambda problem: of(optuna(points_to_evaluate=[{"lr": 0.01}]), asha())(problem))
    with pytest.raises(UsageError) as refusal:
        build_plan(bad, make_problem(), CHECKPOINTS)
    assert all(name in str(refusal.value) for name in ("batch", "depth", "dropout", "width"))


def test_a_parameter_that_the_space_lacks() -> None:
    point = {name: domain.sample() for name, domain in make_problem().space.items()} | {"typo": 1}
    bad = strategy(of(BasicVariantGenerator(points_to_evaluate=[point]), asha()))
    with pytest.raises(UsageError, match="has typo, which the space does not"):
        build_plan(bad, make_problem(), CHECKPOINTS)


def test_complete_starting_points_pass() -> None:
    point = {"lr": 0.01, "dropout": 0.2, "width": 64, "depth": 2, "batch": 64}
    for searcher in (
        BasicVariantGenerator(points_to_evaluate=[point]),
        optuna(points_to_evaluate=[dict(point)]),
        hyperopt([dict(point)]),
    ):
        (found,) = starting_points(searcher)
        assert set(found) == set(point)
        build_plan(strategy(of(searcher, asha())), make_problem(), CHECKPOINTS)


def test_pbt_needs_checkpoints_and_a_mutable_parameter() -> None:
    """ray#27170: without a checkpoint every exploit would be skipped in silence."""
    pbt_strategy = STRATEGIES.get("pbt")
    with pytest.raises(UsageError, match="needs checkpoints, which this benchmark does not"):
        build_plan(pbt_strategy, make_problem(), NO_CHECKPOINTS)
    with pytest.raises(UsageError, match="its `mutable` is empty"):
        build_plan(pbt_strategy, make_problem(mutable=frozenset()), CHECKPOINTS)
    assert misfit(pbt_strategy, make_problem(), CHECKPOINTS) is None
    assert misfit(STRATEGIES.get("random/fifo"), make_problem(), NO_CHECKPOINTS) is None


def test_a_space_that_a_library_cannot_search_is_refused() -> None:
    """ray#13614."""
    problem = make_problem()
    problem = replace(problem, space={**problem.space, "odd": tune.sample_from(lambda spec: 1)})
    for name in ("optuna/asha", "hyperopt/asha"):
        with pytest.raises(UsageError, match=f"strategy '{name}': .* parameter 'odd'"):
            build_plan(STRATEGIES.get(name), problem, CHECKPOINTS)


def test_a_searcher_of_ones_own_without_a_direction_passes() -> None:
    class Fixed(Searcher):
        def suggest(self, trial_id: str) -> dict[str, Any]:
            return {}

        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            pass

    build_plan(strategy(of(Fixed(), FIFOScheduler())), make_problem(), CHECKPOINTS)


def test_ray_still_keeps_metric_and_mode_where_we_look() -> None:
    """Should this fail, Ray has moved them: read ``strategies.check._direction`` again."""
    for part in (optuna(), hyperopt([]), asha(), pbt()):
        assert (part._metric, part._mode) == ("accuracy", "max")
    assert hasattr(asha(), "_metric_op") and not hasattr(FIFOScheduler(), "_metric_op")
