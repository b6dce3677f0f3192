"""Holm's adjusted p-values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.statistics import holm

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def test_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.6 times 4, 3, 2, 1 is 0.04, 0.06, 0.06, 0.6.
    assert holm([0.03, 0.6, 0.01, 0.02]).tolist() == pytest.approx([0.06, 0.6, 0.04, 0.06])
    # 0.04 × 2 = 0.08; 0.05 × 1 is below it, and raised to it.
    assert holm([0.05, 0.04]).tolist() == pytest.approx([0.08, 0.08])
    # 0.7 × 2 is above 1.
    assert holm([0.7, 0.9]).tolist() == [1.0, 1.0]


def test_what_was_not_tested_does_not_count() -> None:
    assert holm([math.nan, 0.04, 0.01, math.nan]).tolist() == pytest.approx(
        [math.nan, 0.04, 0.02, math.nan], nan_ok=True
    )
    assert holm([]).tolist() == []
    assert np.isnan(holm([math.nan])).all()
    assert holm([0.3]).tolist() == [0.3]


@settings(deadline=None, max_examples=50)
@given(P_VALUES)
def test_adjusted_values_are_larger_and_in_the_same_order(p_values: list[float]) -> None:
    raw, adjusted = np.array(p_values), holm(p_values)
    assert (adjusted >= raw).all()
    assert (adjusted <= np.minimum(raw * len(raw), 1)).all()
    assert (np.diff(adjusted[np.argsort(raw)]) >= 0).all()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0.001, 0.5))
def test_it_rejects_what_the_closed_bonferroni_test_rejects(
    p_values: list[float], alpha: float
) -> None:
    """Holm's procedure is Bonferroni's test closed: every set that a comparison is in rejects."""
    raw = np.array(p_values)
    places = range(len(raw))
    sets = [set(s) for k in range(1, len(raw) + 1) for s in itertools.combinations(places, k)]
    closed = [max(min(raw[list(s)].min() * len(s), 1) for s in sets if i in s) for i in places]
    assert holm(p_values).tolist() == pytest.approx(closed)


@pytest.mark.parametrize("p_values", [[0.5, 1.5], [-0.1], [math.inf]])
def test_what_is_no_p_value(p_values: list[float]) -> None:
    with pytest.raises(ValueError, match="allowed is from 0 to 1, or NaN"):
        holm(p_values)
    with pytest.raises(ValueError, match="p_values has shape"):
        holm([p_values])
