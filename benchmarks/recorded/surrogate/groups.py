"""A table's curves as arrays, and their means by configuration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.recorded.table import SCORES, SECONDS, Config, Curve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """Curves of ``n`` configurations over ``epochs`` epochs, several of some.

    ``owner``: (curves,), each one's configuration by number. ``values``: column →
    (curves, epochs); a column that was not measured is absent. Past the last finite value of a
    curve, that one is repeated.
    """

    configs: tuple[Config, ...]
    owner: NDArray[np.intp]
    values: dict[str, Array]

    @property
    def counts(self) -> Array:
        """(n,): how many curves each configuration has."""
        return np.bincount(self.owner).astype(float)

    def means(self, values: Array) -> Array:
        """(curves, …) → (n, …): the mean over each configuration's curves."""
        sums = np.zeros((len(self.configs), *values.shape[1:]))
        np.add.at(sums, self.owner, values)
        means: Array = (sums.T / self.counts).T
        return means


def as_arrays(curves: Sequence[Curve], epochs: int) -> Curves:
    numbers: dict[str, int] = {}
    configs: list[Config] = []
    owner = []
    for curve in curves:
        key = json.dumps(curve.config, sort_keys=True)
        if key not in numbers:
            numbers[key] = len(configs)
            configs.append(curve.config)
        owner.append(numbers[key])
    values = {}
    for column in (*SCORES, *SECONDS):
        rows = [[getattr(epoch, column) for epoch in curve.epochs] for curve in curves]
        if not any(value is None for row in rows for value in row):
            values[column] = _filled(rows, epochs)
    return Curves(tuple(configs), np.array(owner), values)


def _filled(rows: list[list[float]], epochs: int) -> Array:
    filled = np.full((len(rows), epochs), np.nan)
    for place, row in enumerate(rows):
        filled[place, : len(row)] = row
    filled[~np.isfinite(filled)] = np.nan
    # A loss may overflow from the start where the score is finite still.
    filled[np.isnan(filled[:, 0]), 0] = np.nanmax(filled, initial=0.0)
    for epoch in range(1, epochs):
        before, now = filled[:, epoch - 1], filled[:, epoch]
        filled[:, epoch] = np.where(np.isnan(now), before, now)
    return filled
