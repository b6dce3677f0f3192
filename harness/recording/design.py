"""Which configurations a table records: a low-discrepancy sequence over the search space."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.stats import qmc

from harness.contract.records import ConfigValue, ParameterRecord


def design(
    space: Mapping[str, ParameterRecord], count: int, seed: int
) -> list[dict[str, ConfigValue]]:
    """The first ``count`` points of a scrambled Sobol' sequence, mapped to the space.

    Points are spread more evenly than random ones (Sobol' 1967, scrambled as in Owen 1998), and
    the first of a longer sequence are those of a shorter one, so that a table can grow.
    """
    sampler = qmc.Sobol(d=len(space), scramble=True, seed=seed)
    # Whole powers of two, because the sequence is balanced there, and scipy warns elsewhere.
    points = sampler.random_base2(max(1, math.ceil(math.log2(max(count, 2)))))[:count]
    return [
        {
            name: _value(parameter, u)
            for (name, parameter), u in zip(space.items(), point, strict=True)
        }
        for point in points
    ]


def _value(parameter: ParameterRecord, u: float) -> ConfigValue:
    """The parameter's quantile at ``u`` in [0, 1)."""
    if parameter.type == "categorical":
        return parameter.choices[int(u * len(parameter.choices))]
    assert parameter.low is not None and parameter.high is not None
    # An integer's bounds are inclusive, and each has its own unit-wide cell.
    low, high = parameter.low, parameter.high + (parameter.type == "integer")
    if parameter.log:
        value = math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
    else:
        value = low + u * (high - low)
    if parameter.type == "integer":
        return int(min(np.floor(value), parameter.high))
    return float(min(max(value, low), high))
