"""ASHA from a benchmark's epochs cap, with the rungs at which Ray really compares trials.

Source: Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning" (arXiv 1810.05934).
Ray's ``AsyncHyperBandScheduler`` is the *stopping* variant: a trial that is in the lower part of a
rung when it arrives is stopped for good, one that arrives early goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.contract import Plan, Problem, UsageError
from strategies.searchers import Built

if TYPE_CHECKING:
    from ray.tune.schedulers import AsyncHyperBandScheduler

GRACE_EPOCHS, REDUCTION_FACTOR = 1, 3


def under_asha(problem: Problem, search: Callable[[Problem], Built]) -> Plan:
    """A searcher with ASHA's default settings. Raises what ``search`` raises."""
    searcher, searcher_settings = search(problem)
    scheduler, rungs, settings, warnings = asha(problem)
    return Plan(
        searcher=searcher,
        scheduler=scheduler,
        rungs=rungs,
        settings={**searcher_settings, **settings},
        warnings=warnings,
    )


def asha(
    problem: Problem,
    *,
    grace_epochs: int = GRACE_EPOCHS,
    reduction_factor: float = REDUCTION_FACTOR,
) -> tuple[AsyncHyperBandScheduler, tuple[int, ...], dict[str, Any], tuple[str, ...]]:
    """The scheduler, its rungs, its settings as plain data, and warnings.

    A cap of ``grace_epochs × reduction_factor ** k`` (9, 27, 81 … by default) makes the last step,
    from the highest rung to the cap, as long as the others; any other cap is warned about.

    Args:
        grace_epochs: the lowest rung; from 1 to the cap.
        reduction_factor: one in so many trials is meant to go on from a rung; at least 2.

    Raises:
        UsageError: a setting is out of its range.
    """
    cap = problem.max_epochs
    if not 1 <= grace_epochs <= cap:
        raise UsageError(f"ASHA's grace_epochs must be from 1 to the cap {cap}, not {grace_epochs}")
    if reduction_factor < 2:
        raise UsageError(f"ASHA's reduction_factor must be at least 2, not {reduction_factor}")
    from ray.tune.schedulers import AsyncHyperBandScheduler

    scheduler = AsyncHyperBandScheduler(
        time_attr="training_iteration",
        metric=problem.metric,
        mode=problem.mode,
        max_t=cap,
        grace_period=grace_epochs,
        reduction_factor=reduction_factor,
    )
    rungs = comparing_epochs(scheduler, cap)
    settings = {
        "scheduler": "asha",
        "variant": "stopping",
        "grace_epochs": grace_epochs,
        "reduction_factor": reduction_factor,
        "rungs": list(rungs),
    }
    return scheduler, rungs, settings, _warnings(rungs, cap, grace_epochs, reduction_factor)


def comparing_epochs(scheduler: AsyncHyperBandScheduler, max_epochs: int) -> tuple[int, ...]:
    """The epochs at which a built scheduler compares trials, ascending.

    A milestone between two epochs is compared at the later one. Ray may hold a milestone at the
    cap as well (or lose it to rounding, as for 243 = 3⁵): nothing is compared there, since the cap
    ends the trial anyway.
    """
    epochs = {math.ceil(milestone) for milestone in _milestones(scheduler)}
    return tuple(sorted(epoch for epoch in epochs if epoch < max_epochs))


def _milestones(scheduler: AsyncHyperBandScheduler) -> list[float]:
    """Ray 2.60 keeps them only in its private brackets; computing them a second time here would
    go wrong the day that Ray rounds differently. ``tests/strategies/test_asha.py`` watches this."""
    return [milestone for bracket in scheduler._brackets for milestone, _ in bracket._rungs]


def _warnings(
    rungs: tuple[int, ...], cap: int, grace_epochs: int, reduction_factor: float
) -> tuple[str, ...]:
    if not rungs:
        return (
            f"ASHA cannot act: with an epochs cap of {cap} and a first rung at {grace_epochs} "
            "there is no epoch at which it compares trials",
        )
    wanted, milestone = [], float(grace_epochs)
    while milestone < cap:
        wanted.append(math.ceil(milestone))
        milestone *= reduction_factor
    warnings = []
    if lost := sorted(set(wanted) - set(rungs)):
        warnings.append(f"Ray's ASHA lost its rung at epoch {', '.join(map(str, lost))}")
    if milestone > cap:
        warnings.append(
            f"ASHA compares trials at epochs {', '.join(map(str, rungs))}; its next rung, "
            f"{milestone:g}, is beyond the epochs cap of {cap}: trials that pass epoch "
            f"{rungs[-1]} run to the end"
        )
    return tuple(warnings)
