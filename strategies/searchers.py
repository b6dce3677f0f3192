"""The searchers: random, Optuna's TPE, HyperOpt's TPE, each with an explicit seed.

Ray, Optuna and HyperOpt are imported inside the functions, so that listing strategies stays light.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from harness.contract import Problem, UsageError

if TYPE_CHECKING:
    from ray.tune.search import ConcurrencyLimiter
    from ray.tune.search.basic_variant import BasicVariantGenerator

Built = tuple[Any, dict[str, Any]]
"""A searcher, and what was decided for it, as plain data."""

MIN_INITIAL_POINTS, MAX_INITIAL_POINTS = 4, 10


def initial_points(problem: Problem) -> int:
    """How many configurations a model-based searcher draws at random before it uses its model.

    Half of the configurations that run-to-completion can afford, between 4 and 10. The libraries'
    own defaults (10 and 20) would use up a small budget before the model says a word, and fewer
    than 4 points do not split into TPE's good and bad ones. It does not depend on the scheduler,
    so that ``optuna/fifo`` and ``optuna/asha`` differ in nothing but the scheduler.
    """
    full_runs = problem.budget_epochs / problem.max_epochs
    return round(min(max(full_runs / 2, MIN_INITIAL_POINTS), MAX_INITIAL_POINTS))


def random_search(problem: Problem, max_concurrent: int | None = None) -> Built:
    """Independent draws from the space; the same ones for every scheduler of a seed.

    ``max_concurrent``: trials alive at a time (default: one per slot).
    """
    from ray.tune.search.basic_variant import BasicVariantGenerator

    searcher: BasicVariantGenerator = BasicVariantGenerator(
        max_concurrent=max_concurrent or problem.slots, random_state=problem.seed
    )
    return searcher, {"searcher": "random"}


def optuna_tpe(problem: Problem) -> Built:
    """Optuna's tree-structured Parzen estimator, its defaults spelled out in the settings.

    Source: Bergstra et al. 2011, "Algorithms for Hyper-Parameter Optimization", section 4.

    Raises:
        UsageError: the space has a parameter that Optuna cannot handle.
    """
    import optuna
    from ray.tune.search.optuna import OptunaSearch

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    points = initial_points(problem)
    defaults = _plain_defaults(optuna.samplers.TPESampler.__init__, without={"seed"})
    searcher = OptunaSearch(
        space=_converted(problem.space, OptunaSearch.convert_search_space, "Optuna"),
        metric=problem.metric,
        mode=problem.mode,
        sampler=optuna.samplers.TPESampler(seed=problem.seed, n_startup_trials=points),
    )
    settings = {
        "searcher": "optuna TPE",
        "initial_points": points,
        "sampler": {**defaults, "n_startup_trials": points},
    }
    return _one_per_slot(searcher, problem), settings


def hyperopt_tpe(problem: Problem) -> Built:
    """HyperOpt's tree-structured Parzen estimator.

    Source: Bergstra, Yamins & Cox 2013, "Making a Science of Model Search".

    Raises:
        UsageError: the space has a parameter that HyperOpt cannot handle.
    """
    from ray.tune.search.hyperopt import HyperOptSearch

    points = initial_points(problem)
    gamma = _plain_defaults(HyperOptSearch.__init__)["gamma"]
    searcher = HyperOptSearch(
        space=_converted(problem.space, HyperOptSearch.convert_search_space, "HyperOpt"),
        metric=problem.metric,
        mode=problem.mode,
        n_initial_points=points,
        random_state_seed=problem.seed,
        gamma=gamma,
    )
    settings = {"searcher": "hyperopt TPE", "initial_points": points, "gamma": gamma}
    return _one_per_slot(searcher, problem), settings


def _one_per_slot(searcher: Any, problem: Problem) -> ConcurrencyLimiter:
    """A configuration is asked for when a slot is free for it: later is better informed."""
    from ray.tune.search import ConcurrencyLimiter

    return ConcurrencyLimiter(searcher, max_concurrent=problem.slots)


def _converted(
    space: Mapping[str, Any], convert: Callable[[dict[str, Any]], Any], library: str
) -> Any:
    """The space in a library's own terms; parameter by parameter, so that an error names one."""
    from ray import tune
    from ray.tune.search.sample import Categorical, Domain

    domains: dict[str, Domain] = {}
    for name, given in space.items():
        # Told of a constant, the libraries would leave it out of what they suggest.
        is_constant = isinstance(given, bool | int | float | str | None)
        domain = tune.choice([given]) if is_constant else given
        is_nested = isinstance(domain, Categorical) and any(
            isinstance(choice, Domain | dict | list) for choice in domain.categories
        )
        if is_nested or not isinstance(domain, Domain):
            raise UsageError(
                f"{library} cannot search parameter {name!r}: it must be a Ray Tune domain such as "
                "tune.uniform, tune.randint, or tune.choice of plain values"
            )
        try:
            convert({name: domain})
        except (ValueError, TypeError, NotImplementedError) as error:
            raise UsageError(f"{library} cannot search parameter {name!r}: {error}") from error
        domains[name] = domain
    return convert(domains)


def _plain_defaults(
    function: Callable[..., Any], without: frozenset[str] | set[str] = frozenset()
) -> dict[str, Any]:
    """A function's defaults that are plain data: a library's defaults change with its version."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in without and isinstance(parameter.default, bool | int | float | str | None)
    }
