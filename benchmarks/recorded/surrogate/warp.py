"""A monotone map under which a column of numbers is easier to predict, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]

KNOTS = 256
LINEAR_SHARE = 0.25
OUTER_SHARE = 0.05
"""Of the quantiles, at each end: how steep the map is there."""


class Warp:
    """Three quarters normal scores, one quarter the standardised numbers themselves.

    Normal scores spread out what crowds together, as good accuracies do below a ceiling: else a
    model spends itself on the bad ones. Alone they would also draw the gap together between the
    runs that collapsed and the rest, and what lies between would be anyone's guess. Piecewise
    linear between quantiles of the values that it is made from, and on beyond them as steep as the
    outermost ones are together: the noise of a seed may take the best value further.
    """

    def __init__(self, values: Array) -> None:
        places = np.linspace(0.0, 1.0, min(KNOTS, values.size))
        quantiles = np.quantile(values, places)
        # The ends are as far out as those of a sample of this size are (Blom 1958).
        end = 0.625 / (values.size + 0.25)
        normal = norm.ppf(np.clip(places, end, 1 - end))
        # Equal values need one place: the middle of theirs.
        self._values, group = np.unique(quantiles, return_inverse=True)
        normal = np.bincount(group, normal) / np.bincount(group)
        linear = (self._values - values.mean()) / (values.std() or 1.0)
        self._warped = (1 - LINEAR_SHARE) * normal + LINEAR_SHARE * linear

    def to_warped(self, values: Array) -> Array:
        return _interpolate(values, self._values, self._warped)

    def from_warped(self, warped: Array) -> Array:
        return _interpolate(warped, self._warped, self._values)


def _interpolate(x: Array, xs: Array, ys: Array) -> Array:
    """``np.interp``, going on in a straight line at both ends."""
    if len(xs) == 1:
        return np.full(np.shape(x), ys[0])
    outer = max(1, round(OUTER_SHARE * len(xs)))
    low = (ys[outer] - ys[0]) / (xs[outer] - xs[0])
    high = (ys[-1] - ys[-1 - outer]) / (xs[-1] - xs[-1 - outer])
    beyond = low * np.minimum(x - xs[0], 0.0) + high * np.maximum(x - xs[-1], 0.0)
    found: Array = np.interp(x, xs, ys) + beyond
    return found
