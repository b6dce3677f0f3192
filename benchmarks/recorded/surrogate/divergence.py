"""Which configurations diverge, and when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import Noise
from benchmarks.recorded.surrogate.gaussian_process import GaussianProcess
from benchmarks.recorded.table import Curve

Array = NDArray[np.float64]

DIVERGES, WHICH = 10, 11
"""Addresses of the noise."""


class Divergence:
    """The share of a configuration's curves that diverge, between recorded configurations.

    Args:
        features: (n, d), one row per configuration.
        owner: (curves,), each curve's configuration by number.
        curves: at least one of which diverged.
    """

    def __init__(self, features: Array, owner: NDArray[np.intp], curves: Sequence[Curve]) -> None:
        diverged = np.array([float(curve.diverged) for curve in curves])
        counts = np.bincount(owner)
        share = np.bincount(owner, diverged) / counts
        self._process = GaussianProcess(features, share[:, None])
        self._finite_epochs = [
            [len(c.epochs) - 1 for c, number in zip(curves, owner, strict=True)
             if number == config and c.diverged]
            for config in range(len(counts))
        ]  # fmt: skip
        self._diverged = np.flatnonzero(share > 0)

    def finite_epochs(self, features: Array, noise: Noise) -> int | None:
        """How many epochs have finite scores, ``None`` where all have: drawn with the predicted
        share, and as many as a curve of the most similar configuration that diverged had."""
        share = float(self._process(features)[0])
        if noise.uniform(DIVERGES) >= share:
            return None
        likeness = self._process.likeness(features)[self._diverged]
        epochs = self._finite_epochs[self._diverged[int(likeness.argmax())]]
        return epochs[noise.integer(WHICH) % len(epochs)]
