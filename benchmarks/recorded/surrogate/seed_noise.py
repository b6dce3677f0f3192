"""What another seed changes: deviations of recorded curves, lent to predicted ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import Noise
from benchmarks.recorded.surrogate.groups import Curves
from benchmarks.recorded.table import SECONDS

Array = NDArray[np.float64]

NEAREST_LENDERS = 4
"""How many of the configurations that were recorded with several seeds may lend to a score."""
LENDER, SEED = 0, 1
"""Addresses of the noise."""


class SeedNoise:
    """Whole curves of deviations, so that noise keeps its shape over the epochs.

    A deviation is a curve less its configuration's mean, made larger by √(k / (k − 1)) for k seeds,
    since the mean was taken from the same curves. Those of learned columns are of warped values, so
    that what is added to a good score cannot carry it far beyond the best one recorded. Seconds
    are relative; a test score is lent as its distance from the same curve's validation score.

    Noise differs with the score (it is small near the best, large where training is unstable), so
    only the configurations with final scores next to the predicted one lend. Where none was
    recorded with several seeds, all lend, and there is no noise but the test score's distance.

    Args:
        warped: column → (curves, epochs).
    """

    def __init__(self, curves: Curves, warped: Mapping[str, Array]) -> None:
        counts = curves.counts
        repeated = counts > 1 if (counts > 1).any() else counts > 0
        lenders = np.flatnonzero(repeated)
        self._deviations = deviations(curves, warped)
        finals = curves.means(warped["validation_score"])[lenders, -1]
        order = np.argsort(finals, kind="stable")
        self._finals = finals[order]
        self._curves_of = [np.flatnonzero(curves.owner == lender) for lender in lenders[order]]
        self._near = min(len(lenders), NEAREST_LENDERS)

    def borrow(self, warped_final_score: float, noise: Noise) -> dict[str, Array]:
        """Column → (epochs,): to be added; to be multiplied with, for seconds."""
        lender = self._window(warped_final_score)[noise.integer(LENDER) % self._near]
        curves = self._curves_of[lender]
        curve = curves[noise.integer(SEED) % len(curves)]
        return {column: values[curve] for column, values in self._deviations.items()}

    def _window(self, warped_final_score: float) -> range:
        """The lenders next to a score, half of them on either side, as a range of their order."""
        first = int(np.searchsorted(self._finals, warped_final_score)) - self._near // 2
        first = min(max(first, 0), len(self._finals) - self._near)
        return range(first, first + self._near)


def deviations(curves: Curves, warped: Mapping[str, Array]) -> dict[str, Array]:
    """Column → (curves, epochs), as :class:`SeedNoise` says."""
    counts = curves.counts[curves.owner]
    scale = np.sqrt(counts / np.maximum(counts - 1, 1))[:, None]
    found = {
        column: scale * (values - curves.means(values)[curves.owner])
        for column, values in warped.items()
    }
    for column in SECONDS:
        mean = curves.means(curves.values[column])[curves.owner]
        found[column] = np.divide(
            curves.values[column], mean, out=np.ones_like(mean), where=mean > 0
        )
    if "test_score" in curves.values:
        found["test_score"] = curves.values["test_score"] - curves.values["validation_score"]
    return found
