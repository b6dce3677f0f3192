"""Where values lie between a parameter's bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.records import ParameterRecord
from reports.analysis.scales import Scale, observed, parameter_scale

LR = ParameterRecord(type="float", low=1e-4, high=1.0, log=True)
DROPOUT = ParameterRecord(type="float", low=0.0, high=0.5)
DEPTH = ParameterRecord(type="integer", low=1, high=5)
KIND = ParameterRecord(type="categorical", choices=["adam", "sgd", None, True, 1, 1.5])


def places(parameter: ParameterRecord, values: list[Any]) -> list[float]:
    return parameter_scale("p", parameter, values)[1].tolist()


def ticks(parameter: ParameterRecord, values: list[Any]) -> list[tuple[float, str]]:
    return [(round(at, 3), label) for at, label in parameter_scale("p", parameter, values)[0].ticks]


def test_a_logarithmic_one() -> None:
    assert places(LR, [1e-4, 0.01, 1.0]) == pytest.approx([0, 0.5, 1])
    assert ticks(LR, []) == [(0, "0.0001"), (0.25, "0.001"), (0.5, "0.01"), (0.75, "0.1"), (1, "1")]


def test_a_linear_one() -> None:
    assert places(DROPOUT, [0.0, 0.125, 0.5]) == [0, 0.25, 1]
    assert ticks(DROPOUT, []) == [(0, "0"), (0.5, "0.25"), (1, "0.5")]


def test_integers() -> None:
    scale, found = parameter_scale("depth", DEPTH, [1, 2, 5])
    assert scale == Scale("depth", ((0, "1"), (0.5, "3"), (1, "5")), step=0.25)
    assert found.tolist() == [0, 0.25, 1]
    big = ParameterRecord(type="integer", low=1, high=200_000)
    assert ticks(big, []) == [(0, "1"), (1, "200,000")]
    assert parameter_scale("big", big, [])[0].step == 0


def test_choices_are_told_apart_as_json_does() -> None:
    values = ["adam", None, True, 1, 1.0, 1.5, math.nan]
    assert places(KIND, values) == pytest.approx([0, 0.4, 0.6, 0.8, 0.8, 1, math.nan], nan_ok=True)
    labels = [label for _, label in ticks(KIND, [])]
    assert labels == ["adam", "sgd", "none", "true", "1", "1.5"]


def test_a_choice_that_the_space_does_not_have() -> None:
    two = ParameterRecord(type="categorical", choices=["a", "b"])
    assert places(two, ["a", "c", None]) == pytest.approx([0, 1, math.nan], nan_ok=True)


def test_absent_values_have_no_place() -> None:
    for parameter in (LR, DROPOUT, DEPTH):
        assert np.isnan(places(parameter, [None, math.nan, "?", True])).all()


def test_values_outside_reach_as_far_as_the_bounds_are_apart() -> None:
    """PBT may leave them."""
    assert places(LR, [1e-6, 1e-4, 1.0]) == pytest.approx([0, 1 / 3, 1])
    assert ticks(LR, [1e-6, 1.0])[:2] == [(0, "1e-06"), (0.333, "0.0001")]
    assert places(DROPOUT, [0.5, 0.75]) == pytest.approx([2 / 3, 1])
    assert places(DROPOUT, [0.0, 1e9, math.inf, -math.inf]) == [0, 1, 1, 0]
    assert places(LR, [0.0, -1.0, 1.0]) == [0, 0, 1]


def test_one_value_lies_in_the_middle() -> None:
    for value, only in (
        (3, ParameterRecord(type="integer", low=3, high=3)),
        (0.5, ParameterRecord(type="float", low=0.5, high=0.5, log=True)),
        ("a", ParameterRecord(type="categorical", choices=["a"])),
    ):
        assert places(only, [value, None]) == pytest.approx([0.5, math.nan], nan_ok=True)
        assert ticks(only, [value])[0][0] == 0.5
    assert places(ParameterRecord(type="integer", low=3, high=3), [3, 5]) == [0, 1]


def test_many_choices_have_few_labels() -> None:
    many = ParameterRecord(type="categorical", choices=[f"c{i}" for i in range(100)])
    assert len(ticks(many, [])) <= 12
    assert parameter_scale("many", many, ["c99"])[1].tolist() == [1.0]


def test_without_bounds() -> None:
    anything = ParameterRecord(type="float")
    assert places(anything, [1.0, 3.0]) == [0, 1]
    assert np.isnan(places(anything, [None])).all()


def test_as_wide_as_what_was_observed() -> None:
    assert observed(LR, [0.1, None, 0.01]).model_dump() == {
        **LR.model_dump(), "low": 0.01, "high": 0.1,
    }  # fmt: skip
    assert observed(KIND, [1.5, "adam", math.nan]).choices == ["adam", 1.5]
    assert observed(LR, [None]) == LR


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.booleans(),
    st.lists(st.floats() | st.none() | st.integers() | st.text(max_size=3)),
)
def test_every_value_has_a_place_or_none(
    one: float, other: float, log: bool, values: list[Any]
) -> None:
    low, high = sorted((one, other))
    log = log and low > 0
    scale, found = parameter_scale(
        "p", ParameterRecord(type="float", low=low, high=high, log=log), values
    )
    is_number = [isinstance(value, int | float) and value == value for value in values]
    assert np.isnan(found).tolist() == [not known for known in is_number]
    assert ((found >= 0) & (found <= 1) | np.isnan(found)).all()
    at = [place for place, _ in scale.ticks]
    assert at == sorted(at)
    assert 1 <= len(at) <= 8
