"""Step functions: a height from each step on, carried forward until the next one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reports.statistics.checked import Values, pair_of_vectors


def checked_steps(step_x: ArrayLike, step_y: ArrayLike) -> tuple[Values, Values]:
    """Places and heights of a step function, any number of steps; of equal places the last counts.

    Raises:
        ValueError: not two vectors of the same length, or the places do not ascend.
    """
    x, y = pair_of_vectors(("step_x", "step_y"), step_x, step_y)
    if np.isnan(x).any() or (x[1:] < x[:-1]).any():
        raise ValueError(f"step_x is {x}; allowed are ascending numbers")
    return x, y


def step_values(step_x: Values, step_y: Values, at: Values) -> Values:
    """A step function's values: the last known one carried forward, NaN before the first.

    ``step_x`` ascending, same length as ``step_y``; the value at a step's own place is the new one.
    """
    index = np.searchsorted(step_x, at, side="right") - 1
    known: Values = np.concatenate([[np.nan], step_y])
    return known[index + 1]
