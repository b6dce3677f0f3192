"""A Gaussian process that is also given the directions across its features that matter most.

Constantine, Dow & Wang (2014), "Active subspace methods in theory and practice": the eigenvectors,
of the largest eigenvalues, of the mean outer product of a function's gradients. Here the function
is a first Gaussian process's mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.recorded.surrogate.gaussian_process import GaussianProcess

Array = NDArray[np.float64]

DIRECTIONS = 2


class SubspaceProcess:
    """Called like a :class:`GaussianProcess`, whose length scales lie along single features: an
    edge that runs aslant between them (training collapses where learning rate, depth and width
    together are too large) can be sharp in it only where all of them are.

    Args:
        features: (n, d), one row per point.
        targets: (n, m).
    """

    def __init__(self, features: Array, targets: Array) -> None:
        first = GaussianProcess(features, targets)
        self.directions = _steepest(first.gradients(features))
        """(d, directions), unit vectors."""
        self._process = GaussianProcess(self._extended(features), targets)

    def __call__(self, features: Array) -> Array:
        """(d,) → (m,)"""
        return self._process(self._extended(features))

    def _extended(self, features: Array) -> Array:
        """(…, d) → (…, d + directions)"""
        # einsum and not @, whose last bits depend on BLAS's threads.
        along = np.einsum("...d,dk->...k", features, self.directions)
        return np.concatenate([features, along], axis=-1)


def _steepest(gradients: Array) -> Array:
    """(n, m, d) → (d, directions): unit vectors, the steepest first."""
    outer = np.einsum("nmd,nme->de", gradients, gradients)
    _, vectors = np.linalg.eigh(outer)
    steepest = vectors[:, ::-1][:, :DIRECTIONS]
    # A vector and its opposite are the same direction; which one comes out is the library's whim.
    largest = np.abs(steepest).argmax(axis=0)
    signs: Array = np.sign(steepest[largest, np.arange(steepest.shape[1])])
    return steepest * np.where(signs == 0, 1.0, signs)
