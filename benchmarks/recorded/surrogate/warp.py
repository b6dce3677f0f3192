"""A monotone map under which a column of numbers is easier to predict, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]

KNOTS = 256
LINEAR_SHARE = 0.25
END_SHARE, BEYOND = 1 / 32, 0.5
"""How much of the knots at either end has the slope that it goes on with beyond, and how far."""


class Warp:
    """Three quarters normal scores, one quarter the standardised numbers themselves.

    Normal scores spread out what crowds together, as good accuracies do below a ceiling: else a
    model spends itself on the bad ones. Alone they would also draw the gap together between the
    runs that collapsed and the rest, and what lies between would be anyone's guess.

    Piecewise linear between quantiles of the values that it is made from, and on a little beyond
    them, so that the best of many predictions are not all the same number.
    """

    def __init__(self, values: Array) -> None:
        places = np.linspace(0.0, 1.0, min(KNOTS, values.size))
        quantiles = np.quantile(values, places)
        # The ends are as far out as those of a sample of this size are (Blom 1958).
        end = 0.625 / (values.size + 0.25)
        normal = norm.ppf(np.clip(places, end, 1 - end))
        # Equal values need one place: the middle of theirs.
        self._values, group, shared = np.unique(quantiles, return_inverse=True, return_counts=True)
        normal = np.bincount(group, normal) / shared
        linear = (self._values - values.mean()) / (values.std() or 1.0)
        self._warped = (1 - LINEAR_SHARE) * normal + LINEAR_SHARE * linear
        slopes = np.diff(self._values) / np.diff(self._warped)
        reach = max(1, round(END_SHARE * len(slopes)))
        # An end that several share is a floor or a ceiling. Elsewhere the median, as one of the
        # slopes may span the gap to runs that collapsed.
        self._slope_below = (
            float(np.median(slopes[:reach])) if slopes.size and shared[0] == 1 else 0.0
        )
        self._slope_above = (
            float(np.median(slopes[-reach:])) if slopes.size and shared[-1] == 1 else 0.0
        )

    def to_warped(self, values: Array) -> Array:
        """Of values within the range that it was made from."""
        return np.interp(values, self._values, self._warped)

    def from_warped(self, warped: Array) -> Array:
        below = np.clip(warped - self._warped[0], -BEYOND, 0.0)
        above = np.clip(warped - self._warped[-1], 0.0, BEYOND)
        inside = np.interp(warped, self._warped, self._values)
        unwarped: Array = inside + self._slope_below * below + self._slope_above * above
        return unwarped
