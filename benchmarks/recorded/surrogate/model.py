"""The surrogate: a whole curve and its costs for any configuration of a table's space and seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.noise import Noise
from benchmarks.recorded.surrogate.active_subspace import SubspaceProcess
from benchmarks.recorded.surrogate.divergence import Divergence
from benchmarks.recorded.surrogate.features import Features
from benchmarks.recorded.surrogate.gaussian_process import GaussianProcess
from benchmarks.recorded.surrogate.groups import Curves, as_arrays
from benchmarks.recorded.surrogate.seed_noise import SeedNoise
from benchmarks.recorded.surrogate.warp import Warp
from benchmarks.recorded.table import SCORES, SECONDS, Curve, RecordedTable
from harness.contract import UsageError

Array = NDArray[np.float64]

SCORE, LOSSES = "validation_score", ("validation_loss", "train_loss")
LEAST_SECONDS = 1e-9
HEADROOM = 0.02
"""Of a column's recorded range: how far the noise of a seed may take a prediction beyond it."""

DECIMALS = 8
"""Of a prediction. Two kinds of processor agree on some 11, and the last ones would make two events
of one."""


class Surrogate:
    """Mean curves come from a Gaussian process, the noise of seeds from recorded deviations.

    Deterministic: the same table, configuration and seed give the same bits on any number of
    cores, in any order.

    Raises:
        UsageError: every curve of the table diverged at once.
    """

    def __init__(self, table: RecordedTable) -> None:
        benchmark = table.record.benchmark
        self._epochs = benchmark.max_epochs
        self._features = Features(benchmark.space)
        trained = [c for c in table.curves if math.isfinite(c.epochs[0].validation_score)]
        if not trained:
            raise UsageError(
                "every curve of the table diverged in its first epoch: there is nothing to predict"
            )
        curves = as_arrays(trained, self._epochs)
        features = self._rows(curves)
        losses = [column for column in LOSSES if column in curves.values]
        self._warps = {
            column: Warp(curves.means(curves.values[column])) for column in (SCORE, *losses)
        }
        self._noise = SeedNoise(curves, self._warps)
        self._bounds = {column: _bounds(values) for column, values in curves.values.items()}
        # Several threads of BLAS would add up in another order, and the bits would differ.
        with threadpool_limits(1):
            # Scores have a process of their own. Losses go on growing where scores have collapsed,
            # and length scales that suit both suit neither.
            self._score = SubspaceProcess(features, self._targets(curves, [SCORE]))
            self._losses = (
                GaussianProcess(features, self._targets(curves, losses)) if losses else None
            )
            self._costs = GaussianProcess(features, _cost_targets(curves))
            self._divergence = self._divergence_of(table.curves)

    def predict(self, config: Mapping[str, Any], seed: int) -> dict[str, list[Any]]:
        """Column → a value per epoch (``None``: the table has no such values)."""
        noise = Noise(config, seed)
        track: dict[str, list[Any]] = {column: [None] * self._epochs for column in SCORES}
        features = self._features(config)
        warped = self._warped_curves(features)
        final = self._warps[SCORE].from_warped(warped[SCORE][-1:])
        lent = self._noise.borrow(float(final[0]), noise)
        noisy = {
            column: self._warps[column].from_warped(mean + lent[column])
            for column, mean in warped.items()
        }
        if "test_score" in lent:
            noisy["test_score"] = noisy[SCORE] + lent["test_score"]
        for column, values in noisy.items():
            track[column] = _rounded(np.clip(values, *self._bounds[column]))
        for column, seconds in self._mean_seconds(features).items():
            track[column] = _rounded(seconds * lent[column])
        return self._cut_short(track, features, noise)

    def mean_curves(self, config: Mapping[str, Any]) -> dict[str, Array]:
        """Column → (epochs,), before any noise."""
        features = self._features(config)
        return self._mean_curves(features) | self._mean_seconds(features)

    def _rows(self, curves: Curves) -> Array:
        """(n, d)"""
        return np.array([self._features(config) for config in curves.configs])

    def _divergence_of(self, recorded: Sequence[Curve]) -> Divergence | None:
        if not any(curve.diverged for curve in recorded):
            return None
        curves = as_arrays(recorded, self._epochs)
        return Divergence(self._rows(curves), curves.owner, recorded)

    def _cut_short(
        self, track: dict[str, list[Any]], features: Array, noise: Noise
    ) -> dict[str, list[Any]]:
        """End a curve that diverges with NaN, as recorded ones end."""
        if self._divergence is None:
            return track
        finite = self._divergence.finite_epochs(features, noise)
        if finite is None:
            return track
        for column, values in track.items():
            del values[finite + 1 :]
            if column in SCORES and values[finite] is not None:
                values[finite] = math.nan
        return track

    def _targets(self, curves: Curves, columns: Sequence[str]) -> Array:
        """(n, columns · epochs)"""
        means = [(column, curves.means(curves.values[column])) for column in columns]
        return np.hstack([self._warps[column].to_warped(mean) for column, mean in means])

    def _mean_curves(self, features: Array) -> dict[str, Array]:
        return {
            column: np.clip(self._warps[column].from_warped(warped), *self._bounds[column])
            for column, warped in self._warped_curves(features).items()
        }

    def _warped_curves(self, features: Array) -> dict[str, Array]:
        parts = [self._score(features)]
        if self._losses is not None:
            parts += np.split(self._losses(features), len(self._warps) - 1)
        return dict(zip(self._warps, parts, strict=True))

    def _mean_seconds(self, features: Array) -> dict[str, Array]:
        parts = np.split(np.exp(self._costs(features)), len(SECONDS))
        return dict(zip(SECONDS, parts, strict=True))


def _rounded(values: Array) -> list[float]:
    rounded: list[float] = values.round(DECIMALS).tolist()
    return rounded


def _bounds(values: Array) -> tuple[float, float]:
    """What a prediction may not pass. At the range's very ends, the best predictions would all be
    the same number."""
    beyond = HEADROOM * float(np.ptp(values))
    return float(values.min()) - beyond, float(values.max()) + beyond


def _cost_targets(curves: Curves) -> Array:
    """(n, columns · epochs): logarithms of seconds."""
    return np.hstack(
        [
            np.log(np.maximum(curves.means(curves.values[column]), LEAST_SECONDS))
            for column in SECONDS
        ]
    )
