"""What another seed changes: deviations of recorded curves, lent to predicted ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import Noise
from benchmarks.recorded.surrogate.groups import Curves
from benchmarks.recorded.surrogate.warp import Warp

Array = NDArray[np.float64]

NEAREST_SHARE, NEAREST_AT_LEAST = 0.2, 4
"""How many of the configurations that were recorded with several seeds may lend."""
LENDER, SEED = 0, 1
"""Addresses of the noise."""


class SeedNoise:
    """Whole curves of deviations, so that noise keeps its shape over the epochs.

    A deviation is a curve less its configuration's mean, both warped, made larger by √(k / (k − 1))
    for k seeds, since the mean was taken from the same curves. Warped, what takes a mediocre score
    up by 0.1 does not take a good one beyond the best. Test scores are given relative to the same
    curve's *validation* scores, seconds relative to their mean. Noise differs with the score (it is
    small near the best, large where training is unstable), so only configurations of a final score
    near the predicted one lend. Where none was recorded with several seeds, all lend, and there is
    no noise but the distance of the test score.
    """

    def __init__(self, curves: Curves, warps: Mapping[str, Warp]) -> None:
        counts = curves.counts
        repeated = counts > 1 if (counts > 1).any() else counts > 0
        lenders = np.flatnonzero(repeated)
        self.deviations = deviations(curves, warps)
        finals = curves.means(curves.values["validation_score"])[lenders, -1]
        order = np.argsort(finals, kind="stable")
        self._finals = finals[order]
        self._curves_of = [np.flatnonzero(curves.owner == lender) for lender in lenders[order]]
        self._near = min(len(lenders), max(NEAREST_AT_LEAST, round(NEAREST_SHARE * len(lenders))))

    def borrow(self, final_score: float, noise: Noise) -> dict[str, Array]:
        """Column → (epochs,): to be added to warped curves; to the noisy validation scores, for
        test scores; to be multiplied with, for seconds."""
        lender = self._window(final_score)[noise.integer(LENDER) % self._near]
        curves = self._curves_of[lender]
        curve = curves[noise.integer(SEED) % len(curves)]
        return {column: values[curve] for column, values in self.deviations.items()}

    def _window(self, final_score: float) -> range:
        """The lenders nearest to a score, as a range of their order."""
        first = int(np.searchsorted(self._finals, final_score)) - self._near // 2
        first = min(max(first, 0), len(self._finals) - self._near)
        return range(first, first + self._near)


def deviations(curves: Curves, warps: Mapping[str, Warp]) -> dict[str, Array]:
    """Column → (curves, epochs), as :class:`SeedNoise` says; of the columns with a warp, the test
    scores and the seconds."""
    counts = curves.counts[curves.owner]
    scale = np.sqrt(counts / np.maximum(counts - 1, 1))[:, None]
    found = {}
    for column, values in curves.values.items():
        mean = curves.means(values)[curves.owner]
        if column.endswith("_seconds"):
            found[column] = np.divide(values, mean, out=np.ones_like(values), where=mean > 0)
        elif column in warps:
            to_warped = warps[column].to_warped
            found[column] = scale * (to_warped(values) - to_warped(mean))
    if "test_score" in curves.values:
        found["test_score"] = curves.values["test_score"] - curves.values["validation_score"]
    return found
