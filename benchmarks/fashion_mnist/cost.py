"""What an epoch of the MLP costs on one CPU core, where the clock is virtual and nothing is timed.

Linear in what there is to compute. ``python -m benchmarks.perf.fashion_mnist_cost`` fits the
coefficients to the recorded table and says how far from it they are.
"""

from __future__ import annotations

import math

from harness.contract import EpochCost

TRAINING_IMAGES, CLASSES, PIXELS = 50_000, 10, 28 * 28

TRAIN = (0.117, 0.0695, 1.61, 0.0927, 0.0670)
EVALUATE = (0.0320, 0.0314, 0.0639)
CHECKPOINT = (0.00125, 0.000316)
START = (0.00185, 0.000475)
"""Seconds per term of :func:`terms`, the first ones of them."""


def terms(width: int, depth: int, batch_size: int) -> tuple[float, float, float, float, float]:
    """1; weights and units (per image); batches, and batches × weights (per step of the optimizer),
    each in units that make the coefficients readable."""
    weights = PIXELS * width + (depth - 1) * width**2 + CLASSES * width
    batches = math.ceil(TRAINING_IMAGES / batch_size)
    return 1.0, weights / 1e5, width * depth / 1e3, batches / 1e2, batches * weights / 1e7


def mlp_epoch_cost(width: int, depth: int, batch_size: int) -> EpochCost:
    """Device-seconds on a core of an Intel Xeon at 2.8 GHz."""
    there = terms(width, depth, batch_size)

    def seconds(coefficients: tuple[float, ...]) -> float:
        return sum(c * term for c, term in zip(coefficients, there, strict=False))

    return EpochCost(
        train=seconds(TRAIN),
        evaluate=seconds(EVALUATE),
        checkpoint=seconds(CHECKPOINT),
        start=seconds(START),
        is_processor_time=True,
    )
