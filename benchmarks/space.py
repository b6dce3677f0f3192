"""A search space as plain data, and the refusal of what some searchers would get wrong.

Ray's random search, Optuna and HyperOpt give the same meaning to bounded uniform and log-uniform
floats and integers and to flat choices; to the rest they do not (``qrandint(1, 10, 3)`` is three
different sets of numbers), or one of them fails on it. A fair comparison needs the same space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from harness.contract import UsageError
from harness.contract.records import ParameterRecord

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

ALLOWED = "tune.uniform, loguniform, randint, lograndint, or choice of plain values"
_PLAIN = (bool, int, float, str, type(None))


def describe_space(
    space: Mapping[str, Domain], mutable: Iterable[str]
) -> dict[str, ParameterRecord]:
    """Every parameter of a flat space, in its order; ``high`` is inclusive for integers.

    Raises:
        UsageError: an empty space, a parameter of another kind, or a ``mutable`` name that the
            space does not have.
    """
    if not space:
        raise UsageError("the benchmark's search space is empty: there is nothing to tune")
    mutable = frozenset(mutable)
    if unknown := sorted(mutable - set(space)):
        raise UsageError(f"the benchmark's mutable parameters {unknown} are not in its space")
    return {name: _describe(name, domain, name in mutable) for name, domain in space.items()}


def _describe(name: str, domain: Any, is_mutable: bool) -> ParameterRecord:
    from ray.tune.search.sample import Categorical, Domain, Float, Integer, LogUniform, Uniform

    if isinstance(domain, Categorical):
        choices = list(domain.categories)
        if not choices or not all(isinstance(choice, _PLAIN) for choice in choices):
            raise _refusal(name, f"a choice among {choices!r}")
        return ParameterRecord(type="categorical", choices=choices, mutable=is_mutable)
    if isinstance(domain, _PLAIN) and not isinstance(domain, Domain):
        return ParameterRecord(type="categorical", choices=[domain], mutable=is_mutable)
    sampler = domain.get_sampler() if isinstance(domain, Float | Integer) else None
    if not isinstance(sampler, Uniform | LogUniform):
        raise _refusal(name, _kind(domain, sampler))
    log = isinstance(sampler, LogUniform)
    if isinstance(domain, Integer):
        low, high = domain.lower, domain.upper - 1
        return ParameterRecord(type="integer", low=low, high=high, log=log, mutable=is_mutable)
    return ParameterRecord(
        type="float", low=domain.lower, high=domain.upper, log=log, mutable=is_mutable
    )


def _kind(domain: Any, sampler: Any) -> str:
    if isinstance(domain, Mapping):
        return "tune.grid_search" if "grid_search" in domain else "a nested dict"
    return type(sampler if sampler is not None else domain).__name__.lstrip("_")


def _refusal(name: str, kind: str) -> UsageError:
    return UsageError(
        f"parameter {name!r} of the search space is {kind}, which not every searcher understands "
        f"alike; use {ALLOWED}, in a flat dict"
    )


def make_space(described: Mapping[str, ParameterRecord]) -> dict[str, Domain]:
    """The Ray Tune domains that :func:`describe_space` described."""
    return {name: _domain(parameter) for name, parameter in described.items()}


def _domain(parameter: ParameterRecord) -> Domain:
    from ray import tune

    if parameter.type == "categorical":
        return tune.choice(parameter.choices)
    assert parameter.low is not None and parameter.high is not None
    if parameter.type == "integer":
        integer = tune.lograndint if parameter.log else tune.randint
        return integer(int(parameter.low), int(parameter.high) + 1)
    return (tune.loguniform if parameter.log else tune.uniform)(parameter.low, parameter.high)
