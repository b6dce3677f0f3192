"""Mean ranks and rank correlation."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from harness.contract import Mode
from reports.statistics import mean_ranks, rank_correlation

MODES = st.sampled_from(get_args(Mode))
SCORES = st.integers(-5, 5).map(float) | st.sampled_from([math.nan, math.inf, -math.inf])
PAIRS = st.lists(st.tuples(SCORES, SCORES), max_size=12)


def test_mean_ranks_by_hand() -> None:
    # Ranks 1, 2½, 2½ and 3, 1, 2: means 2, 1¾, 2¼.
    scores = [[0.9, 0.5, 0.5], [0.1, 0.8, 0.7]]
    assert mean_ranks(scores, "max").tolist() == [2, 1.75, 2.25]
    # The other way 3, 1½, 1½ and 1, 3, 2.
    assert mean_ranks(scores, "min").tolist() == [2, 2.25, 1.75]


@pytest.mark.parametrize("mode", get_args(Mode))
def test_no_number_is_last(mode: Mode) -> None:
    scores = [[math.nan, 0.5, math.inf, -math.inf]]
    assert mean_ranks(scores, mode).tolist() == [3, 1, 3, 3]


def test_mean_ranks_of_little() -> None:
    assert mean_ranks([[0.5]], "max").tolist() == [1]
    assert np.isnan(mean_ranks(np.empty((0, 3)), "max")).tolist() == [True] * 3
    assert mean_ranks(np.empty((3, 0)), "max").shape == (0,)


@settings(deadline=None, max_examples=50)
@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2), elements=SCORES), MODES)
def test_mean_ranks_share_out_all_places(scores: np.ndarray, mode: Mode) -> None:
    found = mean_ranks(scores, mode)
    k = scores.shape[1]
    assert found.sum() == pytest.approx(k * (k + 1) / 2)
    assert ((found >= 1) & (found <= k)).all()


def test_a_correlation_by_hand() -> None:
    # Without ties 1 − 6 Σd² ÷ (n (n² − 1)): differences of rank 0, −1, 1, 0 give 1 − 12 ÷ 60.
    assert rank_correlation([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0], "max") == pytest.approx(0.8)
    # Ranks 1½, 1½, 3 and 1, 2, 3: products of the deviations 1.5, squares 1.5 and 2.
    found = rank_correlation([1.0, 1.0, 2.0], [1.0, 2.0, 3.0], "max")
    assert found == pytest.approx(1.5 / math.sqrt(1.5 * 2))


def test_no_number_is_worst_in_both_modes() -> None:
    x = [0.1, 0.2, 0.3]
    for worst in (math.nan, math.inf, -math.inf):
        # In the first place it is below what follows if large is good, and above if small is.
        assert rank_correlation(x, [worst, 0.2, 0.3], "max") == pytest.approx(1)
        # Losses 0.1, 0.2, 0.3 against worst, 0.2, 0.3: ranks 1, 2, 3 and 3, 1, 2; 1 − 6 × 6 ÷ 24.
        assert rank_correlation(x, [worst, 0.2, 0.3], "min") == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], []),
        ([1.0, 2.0], [1.0, 2.0]),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 3.0], [math.nan, math.inf, -math.inf]),
    ],
)
def test_too_little_for_a_correlation(x: list[float], y: list[float]) -> None:
    assert math.isnan(rank_correlation(x, y, "max"))


@settings(deadline=None, max_examples=50)
@given(PAIRS, MODES)
def test_only_the_order_counts(pairs: list[tuple[float, float]], mode: Mode) -> None:
    x, y = np.array(pairs).reshape(-1, 2).T
    found = rank_correlation(x, y, mode)
    assert math.isnan(found) or -1 - 1e-9 <= found <= 1 + 1e-9
    assert rank_correlation(y, x, mode) == pytest.approx(found, nan_ok=True)
    # A monotone map of the finite scores; what is no number stays none.
    mapped = np.where(np.isfinite(x), np.exp(x), x)
    assert rank_correlation(mapped, y, mode) == pytest.approx(found, nan_ok=True)


@settings(deadline=None, max_examples=50)
@given(PAIRS, MODES)
def test_numbers_behind_all_others_stand_for_what_is_none(
    pairs: list[tuple[float, float]], mode: Mode
) -> None:
    x, y = np.array(pairs).reshape(-1, 2).T
    worst = -99.0 if mode == "max" else 99.0
    filled = [np.where(np.isfinite(v), v, worst) for v in (x, y)]
    assert rank_correlation(*filled, mode) == pytest.approx(
        rank_correlation(x, y, mode), nan_ok=True
    )


def test_what_is_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"scores has shape \(2,\); allowed is \(seeds, strat"):
        mean_ranks([1.0, 2.0], "max")
    with pytest.raises(ValueError, match="x has 3 values and y has 2"):
        rank_correlation([1.0, 2.0, 3.0], [1.0, 2.0], "max")
