"""How good a strategy was all the way, not only at the end: the mean height of its curve."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from reports.statistics.steps import checked_steps, step_values


def area_under_steps(step_x: ArrayLike, step_y: ArrayLike, start: float, end: float) -> float:
    """The mean height of a step function over [start, end]: its area ÷ (end − start).

    The last height is carried forward, to the end too.

    Args:
        step_x, step_y: shape (n,), places (ascending) and heights from there on.
        start, end: finite places.

    Returns:
        In the unit of the heights, and between those of the stretch. NaN where the function has no
        value at ``start`` yet, where ``end`` ≤ ``start``, and where a height in the stretch is NaN;
        one of ±inf makes the mean so, both make it NaN.

    Raises:
        ValueError: other shapes, places that do not ascend, a stretch that is not finite.

    Source: the area under the learning curve of Liu et al., Winning solutions and post-challenge
    analyses of the ChaLearn AutoDL challenge 2019, TPAMI 43 (2021); they scale time by its
    logarithm, here it is as it is.
    """
    x, y = checked_steps(step_x, step_y)
    if not math.isfinite(end - start):
        raise ValueError(f"start is {start:g} and end {end:g}; allowed are finite places")
    if end <= start:
        return math.nan
    edges = np.unique(np.concatenate([[start], x[(x > start) & (x < end)], [end]]))
    with np.errstate(invalid="ignore"):
        return float((step_values(x, y, edges[:-1]) * (np.diff(edges) / (end - start))).sum())
