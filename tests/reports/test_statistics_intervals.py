"""Intervals over one strategy's seeds: by hand, against SciPy, and for any values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reports.statistics import (
    Interval,
    bootstrap_interval,
    interquartile_mean,
    t_half_width,
    t_interval,
    wilson_interval,
)

FLOATS = st.floats(-1e6, 1e6)


def is_unknown(found: Interval) -> bool:
    return math.isnan(found.low) and math.isnan(found.high)


def test_a_t_interval() -> None:
    # Mean 2, standard deviation 1, half width 4.3027 ÷ √3 = 2.4841 at two degrees of freedom.
    found = t_interval([1.0, 2.0, 3.0])
    assert found.estimate == 2
    assert (found.low, found.high) == pytest.approx((2 - 2.484138, 2 + 2.484138))
    # 1.8856 is the quantile of level 80 %: 1.8856 ÷ √3 = 1.0887.
    assert t_interval([1.0, 2.0, 3.0], 0.8).high == pytest.approx(2 + 1.088662)


def test_half_widths_of_many_points_at_once() -> None:
    values = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    assert t_half_width(values).tolist() == pytest.approx([2.484138, 0.0])
    assert np.isnan(t_half_width(values[:1])).all()


@pytest.mark.parametrize(
    ("values", "estimate"),
    [
        ([], math.nan),
        ([0.5], 0.5),
        ([1.0, math.nan], math.nan),
        ([1.0, math.inf], math.inf),
        ([math.inf, -math.inf], math.nan),
    ],
)
def test_values_that_give_no_limits(values: list[float], estimate: float) -> None:
    found = t_interval(values)
    assert found.estimate == pytest.approx(estimate, nan_ok=True)
    assert is_unknown(found)


@settings(deadline=None, max_examples=50)
@given(st.lists(FLOATS, min_size=2, max_size=20), st.floats(0.5, 0.99))
def test_a_t_interval_is_scipys(values: list[float], confidence: float) -> None:
    found = t_interval(values, confidence)
    assert found.low <= found.estimate <= found.high
    if np.ptp(values) > 1e-3:
        theirs = stats.ttest_1samp(values, 0.0).confidence_interval(confidence)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        # A quarter of 8 is 2: 3, 4, 5 and 6 are left.
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1000.0], 4.5),
        # A quarter of 5 is 1, rounded down.
        ([math.inf, 2.0, 3.0, 4.0, -math.inf], 3.0),
        # Of 3 values none is cut.
        ([1.0, 2.0, 6.0], 3.0),
        ([0.5], 0.5),
        ([], math.nan),
        ([1.0, 2.0, 3.0, math.nan], math.nan),
        ([math.inf, -math.inf], math.nan),
    ],
)
def test_an_interquartile_mean(values: list[float], middle: float) -> None:
    assert interquartile_mean(values) == pytest.approx(middle, nan_ok=True)


@settings(deadline=None, max_examples=50)
@given(st.lists(FLOATS, min_size=1, max_size=20), st.randoms())
def test_an_interquartile_mean_is_amid_the_values_in_any_order(values: list[float], random) -> None:  # type: ignore[no-untyped-def]
    middle = interquartile_mean(values)
    assert min(values) - 1e-6 <= middle <= max(values) + 1e-6
    random.shuffle(values)
    assert interquartile_mean(values) == pytest.approx(middle)


def test_a_bootstrap_interval_of_two_values() -> None:
    # A resample of 0 and 1 has mean 0, ½ or 1 with probabilities ¼, ½, ¼: the quantiles at 2.5 %
    # and 97.5 % are 0 and 1, those at 30 % and 70 % both ½.
    rng = np.random.default_rng(0)
    assert bootstrap_interval([0.0, 1.0], np.mean, rng) == Interval(0.5, 0.0, 1.0)
    assert bootstrap_interval([0.0, 1.0], np.mean, rng, confidence=0.4) == Interval(0.5, 0.5, 0.5)


def test_a_bootstrap_interval_of_many_values_is_nearly_students() -> None:
    values = np.random.default_rng(1).normal(size=400)
    found = bootstrap_interval(values, np.mean, np.random.default_rng(2))
    student = t_interval(values)
    assert (found.low, found.high) == pytest.approx((student.low, student.high), abs=0.02)


@settings(deadline=None, max_examples=15)
@given(st.lists(FLOATS, min_size=2, max_size=8), st.integers(0, 5))
def test_a_bootstrap_interval_lies_within_the_values(values: list[float], seed: int) -> None:
    found, again = (
        bootstrap_interval(values, interquartile_mean, np.random.default_rng(seed), 50)
        for _ in range(2)
    )
    assert found == again
    assert min(values) - 1e-6 <= found.low <= found.high <= max(values) + 1e-6


@pytest.mark.parametrize(
    ("values", "estimate"), [([], math.nan), ([0.5], 0.5), ([0.5, math.inf], math.inf)]
)
def test_values_that_give_no_bootstrap(values: list[float], estimate: float) -> None:
    found = bootstrap_interval(values, np.mean, np.random.default_rng(0))
    assert found.estimate == pytest.approx(estimate, nan_ok=True)
    assert is_unknown(found)


def test_a_wilson_interval() -> None:
    # 8 of 10, z = 1.96: (0.8 + 3.8415 ÷ 20) ÷ 1.38415 = 0.7167 is the centre, and half the width
    # is 1.96 ÷ 1.38415 × √(0.16 ÷ 10 + 3.8415 ÷ 400) = 0.2266.
    found = wilson_interval(8, 10)
    assert found.estimate == 0.8
    assert (found.low, found.high) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert is_unknown(wilson_interval(0, 0))


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 40), st.data(), st.floats(0.5, 0.99))
def test_a_wilson_interval_is_scipys(trials: int, data: st.DataObject, confidence: float) -> None:
    successes = data.draw(st.integers(0, trials))
    found = wilson_interval(successes, trials, confidence)
    theirs = stats.binomtest(successes, trials).proportion_ci(confidence, "wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


def test_what_is_out_of_range() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"values has shape \(1, 2\); allowed is \(n,\)"):
        t_interval([[1.0, 2.0]])
    with pytest.raises(ValueError, match="confidence is 95; allowed is above 0 and below 1"):
        t_interval([1.0, 2.0], 95)
    with pytest.raises(ValueError, match=r"values has shape \(\)"):
        interquartile_mean(1.0)
    with pytest.raises(ValueError, match="resamples is 0; allowed is 1 or more"):
        bootstrap_interval([1.0, 2.0], np.mean, rng, 0)
    with pytest.raises(ValueError, match="3 of 2 is given; allowed is from 0 to all"):
        wilson_interval(3, 2)
