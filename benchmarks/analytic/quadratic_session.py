"""Trains on the noisy quadratic; see :mod:`benchmarks.analytic.noisy_quadratic`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.analytic.noisy_quadratic import EXAMPLES, epoch_seconds
from benchmarks.noise import Noise
from harness.contract import Config, EpochCost, Session

Array = NDArray[np.float64]

DIMENSIONS = 64
CURVATURES: Array = 1.0 / np.arange(1, DIMENSIONS + 1)
HELD_OUT_EXAMPLES = 50_000
"""Of the validation and of the test set: each is a sample, with its own minimum near 0."""
DIVERGED_ABOVE = 1e6
"""A loss; it starts at about 2.4."""
START_SECONDS = 0.5

VALIDATION, TEST = 0, 1


class QuadraticSession(Session):
    """The state is the weights and their velocities; noise is addressed by the epoch."""

    def __init__(self, data_seed: int) -> None:
        # An example's own minimum has the variance 1 / h, as its gradient's noise has the variance
        # h; the mean of n examples has 1 / n of that.
        sd = 1.0 / np.sqrt(CURVATURES * HELD_OUT_EXAMPLES)
        self._minima = sd * np.random.default_rng(data_seed).standard_normal((2, DIMENSIONS))
        # What an epoch starts from: weights and velocities, and its noise.
        self._before = np.empty((4, DIMENSIONS))
        self._state, self._noise = self._before[:2], self._before[2:]

    def start(self, config: Config, seed: int) -> None:
        batch_size = int(config["batch_size"])
        transition, noise_root = steps(
            config["lr"], config["momentum"], batch_size, EXAMPLES // batch_size
        )
        self._update = np.concatenate([transition, noise_root], axis=1)  # (2, 4, dimensions)
        self._bits = np.random.Philox(key=Noise(config, seed).integer())
        self._bits_state: Any = self._bits.state
        self._counter: Any = self._bits_state["state"]["counter"]
        self._normal = np.random.Generator(self._bits).standard_normal
        self._cost = epoch_seconds(batch_size)
        self._epoch = 0
        self._state[0] = np.random.default_rng(seed).standard_normal(DIMENSIONS)
        self._state[1] = 0.0

    def train_epoch(self) -> Mapping[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            self._advance()
            (loss,) = _losses(self._state[:1])
        return {"train_loss": _score(loss)}

    def evaluate(self) -> Mapping[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            validation, test = _losses(self._state[0] - self._minima)
        return {"validation_loss": _score(validation), "test_loss": _score(test)}

    def state(self) -> Mapping[str, Any]:
        return {"epoch": self._epoch, "weights_and_velocities": self._state.tolist()}

    def load(self, state: Mapping[str, Any]) -> None:
        self._epoch = state["epoch"]
        self._state[:] = state["weights_and_velocities"]

    def epoch_cost(self) -> EpochCost:
        start = START_SECONDS if self._epoch <= 1 else 0.0
        return EpochCost(*self._cost, start=start)

    def scores_ahead(self, epochs: int) -> Sequence[float]:
        weights = np.empty((epochs, 1, DIMENSIONS))
        with np.errstate(over="ignore", invalid="ignore"):
            for row in weights:
                self._advance()
                row[:] = self._state[0]
            # Against both minima, as BLAS may add up another number of rows in another order.
            losses = _losses(weights - self._minima)
        scores = [_score(validation) for validation, _ in losses]
        finite = next((n for n, score in enumerate(scores) if math.isnan(score)), epochs)
        return scores[: finite + 1]

    def _advance(self) -> None:
        self._epoch += 1
        # Philox is a counter-based generator; its counter's second word is the epoch here.
        self._counter[1] = self._epoch
        self._bits.state = self._bits_state
        self._normal(out=self._noise)
        self._state[:] = np.einsum("ijd,jd->id", self._update, self._before)


def _losses(away: Array) -> list[Any]:
    """Of weights less their minimum, along the last axis."""
    losses: list[Any] = (0.5 * away * away @ CURVATURES).tolist()
    return losses


def _score(loss: float) -> float:
    """NaN where it diverged."""
    return loss if loss < DIVERGED_ABOVE else math.nan


def steps(lr: float, momentum: float, batch_size: int, count: int) -> tuple[Array, Array]:
    """What ``count`` steps (a power of two) do to (weight, velocity), for every dimension.

    One step is v ← momentum · v + h θ + ε, θ ← θ − lr · v, with ε's variance h / batch_size.

    Returns:
        (2, 2, dimensions) twice: the transition, and a square root of the noise's covariance.
    """
    h, one = CURVATURES, np.ones(DIMENSIONS)
    transition = np.stack([1.0 - lr * h, -lr * momentum * one, h, momentum * one], axis=-1)
    transition = transition.reshape(DIMENSIONS, 2, 2)
    variance = h / batch_size
    covariance = np.stack([lr * lr * variance, -lr * variance, -lr * variance, variance], axis=-1)
    covariance = covariance.reshape(DIMENSIONS, 2, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        # Twice as many steps: x → T (T x + noise) + noise.
        for _ in range(count.bit_length() - 1):
            covariance = covariance + transition @ covariance @ transition.swapaxes(1, 2)
            transition = transition @ transition
        root = _square_root(covariance)
    return np.moveaxis(transition, 0, 2), np.moveaxis(root, 0, 2)


def _square_root(covariance: Array) -> Array:
    """Cholesky's, of 2 × 2 matrices that may be singular (one step's noise is) or infinite."""
    root = np.zeros_like(covariance)
    root[:, 0, 0] = np.sqrt(covariance[:, 0, 0])
    safe = np.where(root[:, 0, 0] > 0, root[:, 0, 0], 1.0)
    root[:, 1, 0] = covariance[:, 1, 0] / safe
    root[:, 1, 1] = np.sqrt(np.maximum(covariance[:, 1, 1] - root[:, 1, 0] ** 2, 0.0))
    return root
