"""Two strategies on the same seeds: how far apart, how often better, how many seeds would tell."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.contract import Mode
from reports.statistics import (
    MIN_PAIRS_TO_CLAIM,
    Interval,
    PairedDifference,
    paired_difference,
    pairs_needed,
    probability_of_improvement,
    wilson_interval,
)

PAIRS = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=1, max_size=12)
MODES = st.sampled_from(get_args(Mode))


def columns(pairs: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    one, other = np.array(pairs).T
    return one, other


def test_a_paired_difference() -> None:
    # Differences 1, 2, 3: mean 2, half width 2.4841, t = 2 ÷ (1 ÷ √3) = 3.4641. At two degrees of
    # freedom p is 1 − t ÷ √(t² + 2) = 1 − 3.4641 ÷ √14 = 0.0742.
    found = paired_difference([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert astuple(found) == pytest.approx(
        (2, 2 - 2.484138, 2 + 2.484138, 1 - math.sqrt(12 / 14), 3)
    )


@pytest.mark.parametrize(
    ("a", "b", "p_value"),
    [
        ([0.5] * 6, [0.5] * 6, 1.0),
        # Six of six above: 2 ÷ 2⁶.
        ([0.6] * 6, [0.5] * 6, 0.03125),
        # As decimals these differences are all 0.1, as floats they are not quite.
        ([0.3, 0.4, 1.1], [0.2, 0.3, 1.0], 0.25),
        ([0.1 + 0.2, 0.4], [0.3, 0.4], 1.0),
        ([0.5], [0.1], 1.0),
    ],
)
def test_differences_that_are_all_equal(a: list[float], b: list[float], p_value: float) -> None:
    found = paired_difference(a, b)
    assert found.p_value == p_value
    assert found.estimate == pytest.approx(a[0] - b[0])
    width = found.high - found.low
    assert width == pytest.approx(0, abs=1e-12) if len(a) > 1 else math.isnan(width)


@pytest.mark.parametrize(
    ("a", "b", "estimate"),
    [
        ([], [], math.nan),
        ([1.0, math.nan], [0.0, 0.0], math.nan),
        ([1.0, math.inf], [0.0, 0.0], math.inf),
        ([math.inf, 1.0], [math.inf, 0.0], math.nan),
        ([math.nan], [0.0], math.nan),
    ],
)
def test_pairs_that_cannot_be_tested(a: list[float], b: list[float], estimate: float) -> None:
    found = paired_difference(a, b)
    unknown = (estimate, math.nan, math.nan, math.nan, len(a))
    assert astuple(found) == pytest.approx(unknown, nan_ok=True)


@settings(deadline=None, max_examples=50)
@given(PAIRS)
def test_the_other_way_round_the_difference_is_the_opposite(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = columns(pairs)
    found, other = paired_difference(a, b), paired_difference(b, a)
    assert astuple(found) == pytest.approx(
        astuple(
            PairedDifference(-other.estimate, -other.high, -other.low, other.p_value, other.pairs)
        ),
        nan_ok=True,
    )


@settings(deadline=None, max_examples=50)
@given(PAIRS)
def test_p_is_below_5_percent_where_the_interval_leaves_0_out(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = columns(pairs)
    found = paired_difference(a, b)
    assert 0 <= found.p_value <= 1
    if np.ptp(a - b) > 1e-6 and abs(found.p_value - 0.05) > 1e-6:
        assert (found.p_value < 0.05) == (not found.low <= 0 <= found.high)


def test_a_probability_of_improvement() -> None:
    # Better, better, tie, worse: 2½ of 4.
    a, b = [3.0, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]
    assert probability_of_improvement(a, b, "max") == wilson_interval(2.5, 4)
    assert probability_of_improvement(a, b, "min") == wilson_interval(1.5, 4)


@pytest.mark.parametrize("mode", get_args(Mode))
def test_no_number_is_worse_than_any(mode: Mode) -> None:
    a = [math.nan, math.inf, -math.inf, 0.5, math.nan]
    b = [0.1, 0.1, 0.1, math.inf, -math.inf]
    # Three worse, one better, one tie.
    assert probability_of_improvement(a, b, mode).estimate == pytest.approx(1.5 / 5)
    nothing = probability_of_improvement([], [], mode)
    assert all(math.isnan(v) for v in astuple(nothing))


@settings(deadline=None, max_examples=50)
@given(PAIRS, MODES)
def test_the_other_way_round_it_is_the_rest(pairs: list[tuple[float, float]], mode: Mode) -> None:
    a, b = columns(pairs)
    found, other = (
        probability_of_improvement(a, b, mode),
        probability_of_improvement(b, a, mode),
    )
    opposite = Interval(1 - other.estimate, 1 - other.high, 1 - other.low)
    assert astuple(found) == pytest.approx(astuple(opposite))


def test_pairs_for_a_power() -> None:
    # Cohen (1988), as every table of the paired t-test has it: for an effect of half a standard
    # deviation, two-sided α = 0.05 and power 0.8, 34 pairs; for one of 0.8, 15.
    assert pairs_needed(0.5, 1.0, 0.05) == 34
    assert pairs_needed(-0.4, 0.5, 0.05) == 15


def test_pairs_needed_do_find_it() -> None:
    """By simulation, at a stricter α: power 0.8 at the number found, less with two pairs fewer."""
    rng, alpha = np.random.default_rng(0), 0.05 / 15
    needed = pairs_needed(1.0, 1.0, alpha)
    assert needed is not None

    def power(pairs: int) -> float:
        values = rng.normal(1.0, 1.0, size=(pairs, 20_000))
        return float((stats.ttest_1samp(values, 0.0).pvalue < alpha).mean())

    assert 0.79 < power(needed) < 0.85
    assert power(needed - 2) < 0.79


@pytest.mark.parametrize(
    ("difference", "sd", "needed"),
    [
        (0.0, 1.0, None),
        (0.0, 0.0, None),
        (0.001, 1.0, None),
        (math.nan, 1.0, None),
        (1.0, math.nan, None),
        (math.inf, 1.0, None),
        (1.0, math.inf, None),
        (1.0, 0.0, MIN_PAIRS_TO_CLAIM),
        (1e300, 1e-300, MIN_PAIRS_TO_CLAIM),
    ],
)
def test_pairs_at_the_ends(difference: float, sd: float, needed: int | None) -> None:
    assert pairs_needed(difference, sd, 0.05) == needed


def test_no_more_pairs_than_at_most() -> None:
    assert pairs_needed(0.5, 1.0, 0.05, at_most=34) == 34
    assert pairs_needed(0.5, 1.0, 0.05, at_most=33) is None
    assert pairs_needed(1.0, 0.0, 0.05, at_most=5) is None


@settings(deadline=None, max_examples=50)
@given(st.floats(0.2, 10), st.floats(0.001, 0.2), st.floats(0.3, 0.95))
def test_smaller_differences_need_no_fewer_pairs(effect: float, alpha: float, power: float) -> None:
    needed, smaller, stricter = (
        pairs_needed(effect, 1.0, alpha, power),
        pairs_needed(effect, 1.1, alpha, power),
        pairs_needed(effect, 1.0, alpha / 2, power),
    )
    assert needed is not None and smaller is not None and stricter is not None
    assert MIN_PAIRS_TO_CLAIM <= needed <= min(smaller, stricter)


def test_what_is_out_of_range() -> None:
    with pytest.raises(ValueError, match="a has 2 values and b has 1; allowed is the same number"):
        paired_difference([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match=r"b has shape \(1, 1\); allowed is \(n,\)"):
        probability_of_improvement([1.0], [[1.0]], "max")
    with pytest.raises(ValueError, match="sd is -1; allowed is 0 or more"):
        pairs_needed(1.0, -1.0, 0.05)
    with pytest.raises(ValueError, match="alpha is 0; allowed is above 0 and below 1"):
        pairs_needed(1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="power is 1; allowed"):
        pairs_needed(1.0, 1.0, 0.05, 1.0)
