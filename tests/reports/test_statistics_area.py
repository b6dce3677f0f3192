"""The mean height of a step function."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.statistics import area_under_steps, step_values

STEPS = st.lists(st.tuples(st.floats(0, 100), st.floats(-10, 10)), min_size=1, max_size=10)


def test_by_hand() -> None:
    # From 2: 1 until 3, 5 until 4, 2 until 10; (1 × 1 + 5 × 1 + 2 × 6) ÷ 8 = 2.25.
    x, y = [1.0, 3.0, 4.0, 20.0], [1.0, 5.0, 2.0, 99.0]
    assert area_under_steps(x, y, 2.0, 10.0) == pytest.approx(2.25)
    # From a step on, the height is the new one.
    assert area_under_steps(x, y, 3.0, 4.0) == 5
    # (1 × 2 + 5 × 1 + 2 × 16 + 99 × 20) ÷ 39
    assert area_under_steps(x, y, 1.0, 40.0) == pytest.approx(2019 / 39)


def test_of_equal_places_the_last_counts() -> None:
    assert area_under_steps([1.0, 2.0, 2.0], [0.0, math.inf, 4.0], 1.0, 3.0) == 2


@pytest.mark.parametrize(("start", "end"), [(0.5, 3.0), (3.0, 3.0), (3.0, 2.0)])
def test_no_area_before_the_first_step_or_without_a_stretch(start: float, end: float) -> None:
    assert math.isnan(area_under_steps([1.0, 2.0], [1.0, 2.0], start, end))
    assert math.isnan(area_under_steps([], [], start, end))


@pytest.mark.parametrize(
    ("heights", "mean"),
    [
        ([1.0, math.nan, 1.0], math.nan),
        ([1.0, math.inf, 1.0], math.inf),
        ([-math.inf, 1.0, 1.0], -math.inf),
        ([-math.inf, math.inf, 1.0], math.nan),
    ],
)
def test_heights_that_are_no_numbers(heights: list[float], mean: float) -> None:
    found = area_under_steps([1.0, 2.0, 3.0], heights, 1.0, 4.0)
    assert found == pytest.approx(mean, nan_ok=True)
    # Outside the stretch they do not matter.
    assert area_under_steps([0.0, 2.0, 4.0], [*heights[:1], 7.0, math.nan], 2.0, 4.0) == 7


@settings(deadline=None, max_examples=50)
@given(STEPS, st.floats(0, 100), st.floats(1e-3, 100))
def test_a_mean_height_is_amid_the_heights(
    steps: list[tuple[float, float]], after: float, length: float
) -> None:
    x, y = (np.array(column) for column in zip(*sorted(steps), strict=True))
    start = x[0] + after
    end = start + length
    found = area_under_steps(x, y, start, end)
    inside = [*step_values(x, y, np.array([start])), *y[(x > start) & (x < end)]]
    assert min(inside) - 1e-9 <= found <= max(inside) + 1e-9
    # Two parts make the whole.
    middle = start + length / 3
    parts = (
        area_under_steps(x, y, start, middle) * (middle - start)
        + area_under_steps(x, y, middle, end) * (end - middle)
    )  # fmt: skip
    assert found * (end - start) == pytest.approx(parts, abs=1e-6)


def test_what_is_out_of_range() -> None:
    with pytest.raises(ValueError, match="start is 0 and end inf; allowed are finite places"):
        area_under_steps([0.0], [1.0], 0.0, math.inf)
    with pytest.raises(ValueError, match="allowed are ascending numbers"):
        area_under_steps([math.nan], [1.0], 0.0, 1.0)
    with pytest.raises(ValueError, match="step_x has 0 values and step_y has 1"):
        area_under_steps([], [1.0], 0.0, 1.0)
