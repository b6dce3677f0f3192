"""A Gaussian process whose outputs share one kernel, fitted by maximum likelihood.

Rasmussen & Williams (2006), algorithm 2.1 and section 5.4.1; Matérn kernel (ν = 5/2) with a length
scale per feature. Each output has a variance of its own, for which its maximum is known exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

Array = NDArray[np.float64]

LENGTH_SCALE_PRIOR_MEDIAN, LENGTH_SCALE_PRIOR_SD = 3.0, 1.5
"""Log-normal, per feature in units of its range: with few configurations, a feature is not used
before it says something."""
JITTER = 1e-8
ITERATIONS = 60


class GaussianProcess:
    """Fitted at once; called with one feature vector (d,), it gives the outputs' means (m,).

    Args:
        features: (n, d), one row per point.
        targets: (n, m).
        noise_weights: (n,), each point's noise variance relative to the fitted one, e.g. 1/3 for
            the mean of three.
    """

    def __init__(self, features: Array, targets: Array, noise_weights: Array) -> None:
        self._mean = targets.mean(axis=0)
        centred = targets - self._mean
        # An output that never varies is its mean; it would break the likelihood.
        varies = centred.std(axis=0) > 1e-12 * np.maximum(1.0, np.abs(self._mean))
        log_scales, log_noise = _most_likely(features, centred[:, varies], noise_weights)
        self._scales = np.exp(-log_scales)
        self._points = features * self._scales
        kernel = _matern(np.exp(-2 * log_scales) @ _squared_distances(features))
        covariance = kernel.reshape(len(features), -1)
        covariance = covariance + np.diag(np.exp(log_noise) * noise_weights + JITTER)
        self._dual: Array = cho_solve(cho_factor(covariance, lower=True), centred)

    def __call__(self, features: Array) -> Array:
        means: Array = np.einsum("n,nm->m", self.likeness(features), self._dual) + self._mean
        return means

    def likeness(self, features: Array) -> Array:
        """(n,): the kernel's value with each point, 1 where it is the same."""
        # einsum and not @: BLAS may share a product between threads, which changes its last bits.
        away = self._points - features * self._scales
        return _matern(np.einsum("nd,nd->n", away, away))


def _most_likely(features: Array, targets: Array, noise_weights: Array) -> tuple[Array, float]:
    """Logarithms of the length scales (d,) and of the noise's variance relative to the signal's."""
    n, d = features.shape
    m = targets.shape[1]
    squares = _squared_distances(features)
    identity = np.eye(n)

    def loss(parameters: Array) -> tuple[float, Array]:
        """The negative log likelihood per output, plus the prior, and its gradient."""
        log_scales, log_noise = parameters[:d], parameters[d]
        inverse_squares = np.exp(-2 * log_scales)
        root = np.sqrt(5 * (inverse_squares @ squares))
        decay = np.exp(-root)
        covariance = ((1 + root + root * root / 3) * decay).reshape(n, n)
        noise = np.exp(log_noise) * noise_weights
        factor = cho_factor(covariance + np.diag(noise + JITTER), lower=True)
        inverse = cho_solve(factor, identity)
        dual = inverse @ targets
        variances = np.einsum("nm,nm->m", targets, dual) / n
        value = n * np.log(variances).sum() / 2 + m * np.log(np.diag(factor[0])).sum()
        # ∂value/∂K = (m K⁻¹ − Σ αα' / variance) / 2
        slope = (m * inverse - (dual / variances) @ dual.T) / 2
        by_square = slope.ravel() * (-5 / 6 * (1 + root) * decay)
        gradient = np.empty(d + 1)
        gradient[:d] = -2 * inverse_squares * (squares @ by_square)
        gradient[d] = np.diag(slope) @ noise
        off = (log_scales - np.log(LENGTH_SCALE_PRIOR_MEDIAN)) / LENGTH_SCALE_PRIOR_SD
        value += m * (off @ off) / 2
        gradient[:d] += m * off / LENGTH_SCALE_PRIOR_SD
        return value / m, gradient / m

    start = np.append(np.full(d, np.log(LENGTH_SCALE_PRIOR_MEDIAN)), np.log(0.05))
    bounds = [(-3.0, 5.0)] * d + [(-12.0, 2.0)]
    options = {"maxiter": ITERATIONS}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return found.x[:d], float(found.x[d])


def _squared_distances(features: Array) -> Array:
    """(d, n · n), per feature."""
    away = features.T[:, :, None] - features.T[:, None, :]
    return (away * away).reshape(features.shape[1], -1)


def _matern(squared_distances: Array) -> Array:
    root = np.sqrt(5 * squared_distances)
    kernel: Array = (1 + root + root * root / 3) * np.exp(-root)
    return kernel
