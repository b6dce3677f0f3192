"""Fits what ``fashion_mnist`` declares an epoch to cost (``cost.py`` there) to the recorded table.

The sum of relative errors is made least, with no coefficient below zero. What the terms cannot know
stays: a run that collapses may be slow, since tiny numbers are.

    python -m benchmarks.perf.fashion_mnist_cost
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from benchmarks.fashion_mnist import cost
from benchmarks.recorded.benchmark import SHIPPED_TABLE
from benchmarks.recorded.replay import whole_table
from benchmarks.recorded.table import Curve

Array = NDArray[np.float64]

ITERATIONS, LEAST_ERROR = 60, 1e-3


def fit(terms: Array, seconds: Array) -> Array:
    """Least absolute relative errors, by reweighted least squares."""
    coefficients = np.full(terms.shape[1], 0.1)
    for _ in range(ITERATIONS):
        errors = np.abs(terms @ coefficients / seconds - 1)
        weights = 1 / seconds / np.sqrt(np.maximum(errors, LEAST_ERROR))
        found = lsq_linear(terms * weights[:, None], seconds * weights, bounds=(0, np.inf))
        coefficients = found.x
    return coefficients


def terms_of(config: dict[str, Any]) -> tuple[float, ...]:
    return cost.terms(config["width"], config["depth"], config["batch_size"])


def median_seconds(curve: Curve, column: str) -> float:
    if column == "start_seconds":
        return curve.epochs[0].start_seconds
    return float(np.median([getattr(epoch, column) for epoch in curve.epochs]))


def main() -> None:
    curves = whole_table(SHIPPED_TABLE)[0].curves
    terms = np.array([terms_of(curve.config) for curve in curves])
    for name, declared in (
        ("train", cost.TRAIN), ("evaluate", cost.EVALUATE), ("checkpoint", cost.CHECKPOINT),
        ("start", cost.START),
    ):  # fmt: skip
        used = terms[:, : len(declared)]
        seconds = np.array([median_seconds(curve, f"{name}_seconds") for curve in curves])
        fitted = fit(used, seconds)
        errors = np.abs(used @ np.array(declared) / seconds - 1)
        coefficients = ", ".join(f"{coefficient:.3g}" for coefficient in fitted)
        print(
            f"{name:10s} fitted ({coefficients}); declared {declared}: off "
            f"by {np.median(errors):.1%} (median), {np.quantile(errors, 0.9):.1%} (nine in ten)"
        )


if __name__ == "__main__":
    main()
