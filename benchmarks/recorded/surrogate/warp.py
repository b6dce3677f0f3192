"""A monotone map that makes a column of numbers normally distributed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]

KNOTS = 256


class NormalScores:
    """Piecewise linear between quantiles of the values it is made from, and back.

    Where good scores crowd together, as they do below a ceiling, small differences become as large
    as those between bad ones; and whatever comes back lies within the values' range.
    """

    def __init__(self, values: Array) -> None:
        places = np.linspace(0.0, 1.0, min(KNOTS, values.size))
        quantiles = np.quantile(values, places)
        # The ends are as far out as those of a sample of this size are (Blom 1958).
        inside = np.clip(places, 0.625 / (values.size + 0.25), 1 - 0.625 / (values.size + 0.25))
        # Equal values need one place: the middle of theirs.
        self._values, group = np.unique(quantiles, return_inverse=True)
        scores = norm.ppf(inside)
        self._scores = np.bincount(group, scores) / np.bincount(group)

    def to_normal(self, values: Array) -> Array:
        return np.interp(values, self._values, self._scores)

    def from_normal(self, scores: Array) -> Array:
        return np.interp(scores, self._scores, self._values)
