"""What another seed changes: deviations of recorded curves, lent to predicted ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import Noise
from benchmarks.recorded.surrogate.groups import Curves

Array = NDArray[np.float64]

NEAREST_SHARE, NEAREST_AT_LEAST = 0.2, 4
"""How many of the configurations that were recorded with several seeds may lend."""
LENDER, SEED = 0, 1
"""Addresses of the noise."""


class SeedNoise:
    """Whole curves of deviations, so that noise keeps its shape over the epochs.

    A deviation is a curve less its configuration's mean, made larger by √(k / (k − 1)) for k seeds,
    since the mean was taken from the same curves. Test scores are given relative to the mean
    *validation* score: how far apart the two lie is lent with the noise. Seconds are relative.
    Noise differs with the score (it is small near the best, large where training is unstable), so
    only configurations of a final score near the predicted one lend. Where none was recorded
    with several seeds, all lend, and there is no noise but the distance of the test score.
    """

    def __init__(self, curves: Curves) -> None:
        counts = curves.counts
        repeated = counts > 1 if (counts > 1).any() else counts > 0
        lenders = np.flatnonzero(repeated)
        self.deviations = deviations(curves)
        finals = curves.means(curves.values["validation_score"])[lenders, -1]
        order = np.argsort(finals, kind="stable")
        self._finals = finals[order]
        self._curves_of = [np.flatnonzero(curves.owner == lender) for lender in lenders[order]]
        self._near = min(len(lenders), max(NEAREST_AT_LEAST, round(NEAREST_SHARE * len(lenders))))

    def borrow(self, final_score: float, noise: Noise) -> dict[str, Array]:
        """Column → (epochs,): to be added; to be multiplied with, for seconds."""
        lender = self._window(final_score)[noise.integer(LENDER) % self._near]
        curves = self._curves_of[lender]
        curve = curves[noise.integer(SEED) % len(curves)]
        return {column: values[curve] for column, values in self.deviations.items()}

    def _window(self, final_score: float) -> range:
        """The lenders nearest to a score, as a range of their order."""
        first = int(np.searchsorted(self._finals, final_score)) - self._near // 2
        first = min(max(first, 0), len(self._finals) - self._near)
        return range(first, first + self._near)


def deviations(curves: Curves) -> dict[str, Array]:
    """Column → (curves, epochs), as :class:`SeedNoise` says."""
    counts = curves.counts[curves.owner]
    scale = np.sqrt(counts / np.maximum(counts - 1, 1))[:, None]
    found = {}
    for column, values in curves.values.items():
        mean = curves.means(values)[curves.owner]
        if column.endswith("_seconds"):
            found[column] = np.divide(values, mean, out=np.ones_like(values), where=mean > 0)
        else:
            found[column] = scale * (values - mean)
    if "test_score" in curves.values:
        gap = curves.means(curves.values["test_score"] - curves.values["validation_score"])
        found["test_score"] = found["test_score"] + gap[curves.owner]
    return found
