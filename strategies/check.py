"""Refuses a strategy that cannot work with a problem, before anything starts or is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.contract import HarnessError, Plan, Problem, Strategy, UsageError


def build_plan(strategy: Strategy, problem: Problem, gives_checkpoints: bool) -> Plan:
    """Build a strategy for a problem and check the result.

    Raises:
        UsageError: the pair does not fit, or the strategy's own code failed; it names the strategy.
    """
    if reason := misfit(strategy, problem, gives_checkpoints):
        raise UsageError(f"strategy {strategy.name!r}: {reason}")
    try:
        plan = strategy.build(problem)
    except HarnessError as error:
        raise UsageError(f"strategy {strategy.name!r}: {error}") from error
    except Exception as error:
        raise UsageError(
            f"strategy {strategy.name!r} cannot be built: {type(error).__name__}: {error}"
        ) from error
    check_plan(strategy, plan, problem, gives_checkpoints)
    return plan


def misfit(strategy: Strategy, problem: Problem, gives_checkpoints: bool) -> str | None:
    """Why a strategy cannot run on a benchmark, by its capabilities alone; ``None`` if it can."""
    if strategy.needs_checkpoints and not gives_checkpoints:
        return (
            "it pauses or copies trials and so needs checkpoints, which this benchmark does not "
            "give (its `gives_checkpoints` is False)"
        )
    if strategy.changes_config and not problem.mutable:
        return (
            "it changes a trial's configuration while it runs, and this benchmark declares no "
            "parameter that may change then (its `mutable` is empty)"
        )
    return None


def check_plan(strategy: Strategy, plan: object, problem: Problem, gives_checkpoints: bool) -> None:
    """Check what a strategy built.

    Raises:
        UsageError: searcher and scheduler disagree with the problem or with each other, or the
            strategy's capabilities are not what its parts need; it names the strategy.
    """
    if (reason := misfit(strategy, problem, gives_checkpoints)) is None:
        reason = next(_faults(strategy, plan, problem), None)
    if reason is not None:
        raise UsageError(f"strategy {strategy.name!r}: {reason}")


def _faults(strategy: Strategy, plan: object, problem: Problem) -> Iterator[str]:
    """What is wrong, the most basic first: each fault may rely on those before being absent."""
    if not isinstance(plan, Plan):
        yield f"its build() returned {type(plan).__name__}, not a Plan"
        return
    yield from _wrong_types(plan)
    yield from _wrong_direction(plan, problem)
    yield from _wrong_pair(strategy, plan)
    yield from _incomplete_points(plan, problem)
    if list(plan.rungs) != sorted(set(plan.rungs)) or not all(
        1 <= rung <= problem.max_epochs for rung in plan.rungs
    ):
        yield (
            f"its rungs must ascend from 1 to at most the epochs cap {problem.max_epochs}, "
            f"not {list(plan.rungs)}"
        )


def _wrong_types(plan: Plan) -> Iterator[str]:
    from ray.tune.schedulers import TrialScheduler
    from ray.tune.search import SearchAlgorithm, Searcher
    from ray.tune.search.basic_variant import BasicVariantGenerator

    if not isinstance(plan.scheduler, TrialScheduler):
        yield f"its scheduler must be a ray.tune TrialScheduler, not {_kind(plan.scheduler)}"
    if not isinstance(plan.searcher, Searcher | SearchAlgorithm):
        yield f"its searcher must be a ray.tune Searcher, not {_kind(plan.searcher)}"
    inner = _innermost(plan.searcher)
    if inner is not plan.searcher and isinstance(inner, BasicVariantGenerator):
        yield (
            "it wraps a BasicVariantGenerator, which takes no ConcurrencyLimiter or Repeater: "
            "give it max_concurrent instead"
        )


def _wrong_direction(plan: Plan, problem: Problem) -> Iterator[str]:
    wanted = {"metric": problem.metric, "mode": problem.mode}
    for part, thing in (("searcher", _innermost(plan.searcher)), ("scheduler", plan.scheduler)):
        for what, value in _direction(thing).items():
            if value is not None and value != wanted[what]:
                yield (
                    f"its {part}'s {what} is {value!r}, but this benchmark's is {wanted[what]!r}: "
                    f"pass problem.{what} on"
                )
            if value is None and part == "scheduler" and hasattr(thing, "_metric_op"):
                yield f"its scheduler compares trials but has no {what}: pass problem.{what} on"


def _direction(thing: Any) -> dict[str, Any]:
    """A searcher's or scheduler's metric and mode. Ray 2.60 gives schedulers no public ``mode``;
    ``tests/strategies/test_check.py`` watches this."""
    return {what: getattr(thing, f"_{what}", None) for what in ("metric", "mode")}


def _wrong_pair(strategy: Strategy, plan: Plan) -> Iterator[str]:
    from ray.tune.schedulers import HyperBandScheduler, PopulationBasedTraining
    from ray.tune.search.basic_variant import BasicVariantGenerator

    is_pbt = isinstance(plan.scheduler, PopulationBasedTraining)
    if is_pbt and not isinstance(plan.searcher, BasicVariantGenerator):
        yield (
            f"PBT changes configurations itself and takes no {_kind(_innermost(plan.searcher))}: "
            "give it a BasicVariantGenerator"
        )
    if is_pbt and not strategy.changes_config:
        yield "its scheduler changes configurations: declare changes_config=True"
    if (is_pbt or isinstance(plan.scheduler, HyperBandScheduler)) and not (
        strategy.needs_checkpoints
    ):
        yield "its scheduler pauses trials: declare needs_checkpoints=True"
    if is_pbt and plan.keep_checkpoints <= 2:
        yield (
            "with keep_checkpoints of 2 or less, the checkpoint that an exploit needs may be "
            "deleted before it: keep more"
        )


def _incomplete_points(plan: Plan, problem: Problem) -> Iterator[str]:
    for point in starting_points(plan.searcher):
        if missing := sorted(set(problem.space) - set(point)):
            yield (
                f"its starting point {point} lacks {', '.join(missing)}: "
                "give every parameter of the space"
            )
        if unknown := sorted(set(point) - set(problem.space)):
            yield (
                f"its starting point {point} has {', '.join(unknown)}, which the space does not "
                f"have; it has {', '.join(sorted(problem.space))}"
            )


def starting_points(searcher: Any) -> list[dict[str, Any]]:
    """The ``points_to_evaluate`` of a searcher. Ray 2.60 keeps them private, and HyperOpt's as
    trials of its own; ``tests/strategies/test_check.py`` watches this."""
    inner = _innermost(searcher)
    points = getattr(inner, "_points_to_evaluate", None) or []
    if not isinstance(points, int):
        return [dict(point) for point in points]
    trials = inner._hpopt_trials.trials[:points]
    return [
        {name: values[0] for name, values in trial["misc"]["vals"].items() if values}
        for trial in trials
    ]


def _innermost(searcher: Any) -> Any:
    """The searcher below limiters and repeaters."""
    while (inner := getattr(searcher, "searcher", None)) is not None:
        searcher = inner
    return searcher


def _kind(thing: object) -> str:
    return type(thing).__name__
