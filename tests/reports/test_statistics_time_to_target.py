"""Time to a target, where some seeds never get there."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract import Mode
from reports.statistics import first_reached, reached_fraction, restricted_mean_time, t_interval

TIMES = st.lists(st.floats(0, 100) | st.just(math.inf), min_size=1, max_size=12)


def test_the_first_place_at_the_target() -> None:
    x, y = [1.0, 2.0, 5.0], [0.3, 0.5, 0.9]
    assert first_reached(x, y, 0.5, "max") == 2
    assert first_reached(x, y, 0.6, "max") == 5
    assert first_reached(x, y, 0.95, "max") == math.inf
    assert first_reached(x, y, 0.4, "min") == 1
    assert first_reached(x, y, 0.2, "min") == math.inf


@pytest.mark.parametrize("mode", get_args(Mode))
def test_no_number_reaches_nothing(mode: Mode) -> None:
    heights = [math.nan, math.inf, -math.inf, 0.5]
    assert first_reached([1.0, 2.0, 3.0, 4.0], heights, 0.5, mode) == 4
    assert first_reached([], [], 0.5, mode) == math.inf


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(-10, 10)), max_size=12),
    st.floats(-10, 10),
    st.floats(0, 5),
    st.sampled_from(get_args(Mode)),
)
def test_a_harder_target_is_not_reached_earlier(
    steps: list[tuple[float, float]], target: float, harder: float, mode: Mode
) -> None:
    x = sorted(place for place, _ in steps)
    y = [height for _, height in steps]
    sign = 1 if mode == "max" else -1
    found = first_reached(x, y, target, mode)
    assert found <= first_reached(x, y, target + sign * harder, mode)
    assert found == first_reached(x, [-v for v in y], -target, "min" if mode == "max" else "max")


def test_the_fraction_that_reached() -> None:
    times = [3.0, math.inf, 1.0, 3.0]
    found = reached_fraction(times, [0.0, 1.0, 2.9, 3.0, 9.0, math.inf, -math.inf])
    assert found.tolist() == [0, 0.25, 0.25, 0.75, 0.75, 0.75, 0]
    assert reached_fraction(times, 3.0).shape == ()
    assert np.isnan(reached_fraction([], [1.0, 2.0])).all()


@settings(deadline=None, max_examples=50)
@given(TIMES, st.lists(st.floats(0, 200), max_size=8))
def test_fractions_count_and_only_grow(times: list[float], at: list[float]) -> None:
    found = reached_fraction(times, sorted(at))
    assert (np.diff(found) >= 0).all()
    counted = [sum(t <= place for t in times) / len(times) for place in sorted(at)]
    assert found.tolist() == pytest.approx(counted)


def test_a_restricted_mean() -> None:
    # min(t, 10) is 2, 4, 10, 10: mean 6.5, sd √((20.25 + 6.25 + 2 × 12.25) ÷ 3) = 4.1231, half
    # width 3.1824 × 4.1231 ÷ 2 = 6.5608: the interval is cut at 10, and at 0.
    found = restricted_mean_time([2.0, math.inf, 4.0, 10.0], 10.0)
    assert astuple(found) == (6.5, 0.0, 10.0)
    # Uncut: 4, 5, 6 have mean 5 and half width 2.4841.
    found = restricted_mean_time([4.0, 5.0, 6.0], 10.0)
    assert astuple(found) == pytest.approx((5, 5 - 2.484138, 5 + 2.484138))


def test_restricted_means_at_the_ends() -> None:
    never = restricted_mean_time([math.inf] * 3, 0.1)
    assert astuple(never) == pytest.approx((0.1, 0.1, 0.1))
    # The mean of three times 0.1 is rounded to a little more.
    assert max(astuple(never)) <= 0.1
    one = restricted_mean_time([4.0], 10.0)
    assert one.estimate == 4
    assert math.isnan(one.low) and math.isnan(one.high)
    assert all(math.isnan(v) for v in astuple(restricted_mean_time([], 10.0)))


@settings(deadline=None, max_examples=50)
@given(TIMES, st.floats(0.1, 200))
def test_a_restricted_mean_is_the_area_over_the_fractions(
    times: list[float], horizon: float
) -> None:
    """The area under the survival curve, 1 − the fraction reached, up to the horizon."""
    found = restricted_mean_time(times, horizon)
    edges = np.unique([0.0, horizon, *(t for t in times if t < horizon)])
    area = ((1 - reached_fraction(times, edges[:-1])) * np.diff(edges)).sum()
    assert found.estimate == pytest.approx(area)
    if len(times) > 1:
        assert 0 <= found.low <= found.estimate <= found.high <= horizon
        uncut = t_interval(np.minimum(times, horizon))
        assert found.low >= uncut.low - 1e-9


def test_what_is_out_of_range() -> None:
    with pytest.raises(ValueError, match="target is nan; allowed is a finite score"):
        first_reached([1.0], [1.0], math.nan, "max")
    with pytest.raises(ValueError, match="allowed are ascending numbers"):
        first_reached([2.0, 1.0], [1.0, 2.0], 1.0, "max")
    with pytest.raises(ValueError, match="step_x has 1 values and step_y has 2"):
        first_reached([2.0], [1.0, 2.0], 1.0, "max")
    for times in ([-1.0], [math.nan]):
        with pytest.raises(ValueError, match="allowed are 0 or more, inf where never"):
            reached_fraction(times, 1.0)
    with pytest.raises(ValueError, match="allowed are numbers"):
        reached_fraction([1.0], [math.nan])
    for horizon in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="allowed is a finite time above 0"):
            restricted_mean_time([1.0], horizon)
