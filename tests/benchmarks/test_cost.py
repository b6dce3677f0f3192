"""What an epoch of the MLP is declared to cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fashion_mnist.cost import mlp_epoch_cost, terms
from benchmarks.recorded.benchmark import SHIPPED_TABLE
from benchmarks.recorded.replay import whole_table


def test_terms_by_hand() -> None:
    weights = 784 * 100 + 2 * 100**2 + 10 * 100
    assert terms(100, 3, 128) == pytest.approx(
        (1.0, weights / 1e5, 0.3, 391 / 1e2, 391 * weights / 1e7)
    )


@given(st.integers(64, 512), st.integers(1, 4), st.sampled_from([128, 256, 512, 1024, 2048]))
def test_more_to_compute_costs_more(width: int, depth: int, batch_size: int) -> None:
    cost = mlp_epoch_cost(width, depth, batch_size)
    assert min(cost.train, cost.evaluate, cost.checkpoint, cost.start) > 0
    assert mlp_epoch_cost(width + 1, depth, batch_size).train > cost.train
    assert mlp_epoch_cost(width, depth + 1, batch_size).train > cost.train
    assert mlp_epoch_cost(width, depth, batch_size // 2).train > cost.train


def test_it_is_near_what_was_recorded() -> None:
    errors = []
    for curve in whole_table(SHIPPED_TABLE)[0].curves:
        config = curve.config
        size = (config["width"], config["depth"], config["batch_size"])
        declared = mlp_epoch_cost(*size).train  # type: ignore[arg-type]
        recorded = float(np.median([epoch.train_seconds for epoch in curve.epochs]))
        errors.append(abs(declared / recorded - 1))
    assert np.median(errors) < 0.15
