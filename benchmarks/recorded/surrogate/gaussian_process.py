"""A Gaussian process whose outputs share one kernel: scikit-learn's, made quick for one point.

Rasmussen & Williams (2006), algorithm 2.1; Matérn kernel (ν = 5/2) with a length scale per feature.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

Array = NDArray[np.float64]

LENGTH_SCALE_BOUNDS = (0.1, 100.0)
"""In units of a feature's range; at the upper end a feature says nothing."""
ITERATIONS = 50
"""Of the search for the length scales."""
KEPT_VARIANCE = 0.99
"""Of the outputs, by their principal components. They are curves, so that a few say nearly all; the
others are noise, for which no length scale should be sought."""
JITTER = 1e-8


class GaussianProcess:
    """Fitted at once; called with one feature vector (d,), it gives the outputs' means (m,).

    Args:
        features: (n, d), one row per point.
        targets: (n, m).
    """

    def __init__(self, features: Array, targets: Array) -> None:
        count = features.shape[1]
        self._mean = targets.mean(axis=0)
        spread = float(targets.std()) if np.ptp(targets, axis=0).any() else 0.0
        if not spread:
            # Nothing varies, so there is nothing to fit: the mean is all.
            self._scales, self._points = np.ones(count), features
            self._dual = np.zeros((len(features), targets.shape[1]))
            return
        components = PCA(KEPT_VARIANCE, svd_solver="full").fit(targets)
        kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(
            np.ones(count), LENGTH_SCALE_BOUNDS, nu=2.5
        ) + WhiteKernel(1e-2, (1e-6, 1e1))
        model = GaussianProcessRegressor(kernel, alpha=JITTER, optimizer=_climb)
        with warnings.catch_warnings():
            # A length scale at its upper bound is what the bound is for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(features, components.transform(targets) / spread)
        smooth = model.kernel_.k1
        self._scales = 1 / np.broadcast_to(smooth.k2.length_scale, count)
        self._points = features * self._scales
        # `model.predict` checks for a millisecond what it is given. Back through the components,
        # its mean is one linear map of the kernel's values; `tests/…/test_surrogate.py` compares.
        weights = np.reshape(model.alpha_, (len(features), -1)) * spread
        self._dual = float(smooth.k1.constant_value) * weights @ components.components_

    def __call__(self, features: Array) -> Array:
        means: Array = np.einsum("n,nm->m", self.likeness(features), self._dual) + self._mean
        return means

    def gradients(self, features: Array) -> Array:
        """(k, d) → (k, m, d): of the means across the features."""
        found = []
        for point in features * self._scales:
            away = self._points - point
            root = np.sqrt(5 * np.einsum("nd,nd->n", away, away))
            slopes = 5 / 3 * ((1 + root) * np.exp(-root))[:, None] * away * self._scales
            found.append(np.einsum("nm,nd->md", self._dual, slopes))
        return np.array(found)

    def likeness(self, features: Array) -> Array:
        """(n,): the kernel's value with each point, 1 where it is the same."""
        # einsum and not @: BLAS may share a product between threads, which changes its last bits.
        away = self._points - features * self._scales
        root = np.sqrt(5 * np.einsum("nd,nd->n", away, away))
        decayed: Array = (1 + root + root * root / 3) * np.exp(-root)
        return decayed


def _climb(
    loss: Callable[[Array], tuple[float, Array]], start: Array, bounds: Array
) -> tuple[Array, float]:
    """scikit-learn's own optimizer, but for a limit: the last digits are not worth the seconds."""
    found = minimize(
        loss, start, method="L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": ITERATIONS}
    )
    return found.x, found.fun
