"""Population based training: weak members copy strong ones' weights and perturb their settings.

Source: Jaderberg et al. 2017, "Population Based Training of Neural Networks" (arXiv 1711.09846).

Synchronous: all members of a population are ranked at the same epoch, whatever the number of slots
and the order in which they arrive (see :class:`strategies.generations.GenerationalPBT` for what
goes wrong otherwise). The price: devices may wait for the slowest member at each perturbation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.contract import Config, Plan, Problem, Strategy, UsageError
from strategies.searchers import random_search

QUANTILE_FRACTION, RESAMPLE_PROBABILITY = 0.25, 0.25
PERTURBATION_FACTORS = (1.2, 0.8)
MIN_POPULATION, MAX_POPULATION = 4, 32
MAX_LISTED_INTEGERS = 10


def build(problem: Problem) -> Plan:
    """PBT for a problem.

    Raises:
        UsageError: no parameter may change in the middle of a trial, or one that may is of a kind
            that cannot be perturbed.
    """
    mutations, clips = mutable_domains(problem)
    from strategies.generations import GenerationalPBT

    population, interval = population_size(problem), perturbation_interval(problem.max_epochs)
    # The generator keeps a population alive, so a fresh member comes as soon as one has ended.
    searcher, searcher_settings = random_search(problem, max_concurrent=population)
    scheduler = GenerationalPBT(
        population,
        time_attr="training_iteration",
        metric=problem.metric,
        mode=problem.mode,
        perturbation_interval=interval,
        hyperparam_mutations=mutations,
        quantile_fraction=QUANTILE_FRACTION,
        resample_probability=RESAMPLE_PROBABILITY,
        perturbation_factors=PERTURBATION_FACTORS,
        custom_explore_fn=partial(clip_config, clips),
        # It writes files beside the trials' folders; the harness records exploits itself.
        log_config=False,
    )
    settings = {
        **searcher_settings,
        "scheduler": "pbt",
        "synchronous": True,
        "population": population,
        "perturbation_interval_epochs": interval,
        "quantile_fraction": QUANTILE_FRACTION,
        "resample_probability": RESAMPLE_PROBABILITY,
        "perturbation_factors": list(PERTURBATION_FACTORS),
        "mutable": sorted(mutations),
    }
    return Plan(
        searcher=searcher,
        scheduler=scheduler,
        settings=settings,
        keep_checkpoints=checkpoints_to_keep(interval),
        warnings=_warnings(problem, population),
    )


def population_size(problem: Problem) -> int:
    """As many members as the budget can train to the cap, from 4 to 32; a multiple of the slots,
    so that every slot has as many turns between two perturbations.

    One population then spends the whole budget: the more members, the fewer restarts from scratch.
    """
    affordable = math.floor(problem.budget_epochs / problem.max_epochs)
    wanted = min(max(affordable, MIN_POPULATION), MAX_POPULATION)
    fitting = wanted // problem.slots * problem.slots
    if fitting >= MIN_POPULATION:
        return fitting
    return math.ceil(wanted / problem.slots) * problem.slots


def perturbation_interval(max_epochs: int) -> int:
    """Epochs between two perturbations of a member: a quarter of its life, at least one."""
    return max(1, max_epochs // 4)


def checkpoints_to_keep(interval: int) -> int:
    """How many checkpoints a member can write while an exploit may still need an older one.

    What a strong member has at a perturbation must outlive its next turn, in which it writes one
    checkpoint per epoch, since the weak one's own turn may come later; and one more for a retry.
    """
    return interval + 2


def mutable_domains(problem: Problem) -> tuple[dict[str, Any], dict[str, Callable[[Any], Any]]]:
    """What PBT may change: Ray's mutations, and for each numeric one how to bring a perturbed value
    back into the space (Ray multiplies by 1.2 or 0.8 and looks at no bound).

    Choices and small integers become lists (PBT moves to a neighbour: a factor of 1.2 would round
    back to the same small integer); other domains are resampled or multiplied.

    Raises:
        UsageError: nothing is mutable, or something mutable is missing from the space or of
            another kind.
    """
    if not problem.mutable:
        raise UsageError(
            "PBT needs a parameter that may change in the middle of a trial, and this benchmark "
            "declares none (its `mutable`): leave pbt out, or choose another benchmark"
        )
    if missing := sorted(problem.mutable - set(problem.space)):
        raise UsageError(
            f"the benchmark declares {', '.join(missing)} mutable, but its space has only "
            f"{', '.join(sorted(problem.space))}"
        )
    mutations: dict[str, Any] = {}
    clips: dict[str, Callable[[Any], Any]] = {}
    for name in sorted(problem.mutable):
        mutations[name], clip = _mutation(name, problem.space[name])
        if clip is not None:
            clips[name] = clip
    return mutations, clips


def clip_config(clips: Mapping[str, Callable[[Any], Any]], config: Config) -> Config:
    """Bring a perturbed configuration back into the space; PBT's ``custom_explore_fn``."""
    return {name: clips[name](value) if name in clips else value for name, value in config.items()}


def _mutation(name: str, domain: Any) -> tuple[Any, Callable[[Any], Any] | None]:
    from ray.tune.search.sample import Categorical, Float, Integer, LogUniform, Uniform

    if isinstance(domain, Categorical) and not domain.is_grid():
        return list(domain.categories), None
    is_bounded = isinstance(domain, Float | Integer) and isinstance(
        domain.get_sampler(), Uniform | LogUniform
    )
    if not is_bounded:
        raise UsageError(
            f"PBT cannot perturb parameter {name!r}, a {type(domain).__name__}: it needs "
            "tune.uniform, loguniform, randint, lograndint, or choice"
        )
    if isinstance(domain, Float):
        return domain, partial(_clip, domain.lower, domain.upper)
    low, high = domain.lower, domain.upper - 1  # Ray's upper bound is exclusive.
    if high - low < MAX_LISTED_INTEGERS:
        return list(range(low, high + 1)), None
    return domain, partial(_clip, low, high)


def _clip(low: float, high: float, value: float) -> float:
    return min(max(value, low), high)


def _warnings(problem: Problem, population: int) -> tuple[str, ...]:
    if problem.max_epochs == 1:
        return ("PBT cannot act: with an epochs cap of 1 a trial ends at its first report",)
    affordable = problem.budget_epochs / problem.max_epochs
    if affordable < population:
        return (
            f"the budget pays for about {affordable:.1f} full runs, fewer than PBT's population "
            f"of {population}: its members will not reach the epochs cap",
        )
    return ()


STRATEGY = Strategy(
    name="pbt",
    summary="Population based training: weak trials copy strong ones and mutate",
    searcher="random",
    scheduler="pbt",
    build=build,
    needs_checkpoints=True,
    changes_config=True,
)
