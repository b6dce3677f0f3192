"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from harness.contract import DeviceKind
from reports import units


@pytest.mark.parametrize(
    ("kind", "budget", "text"),
    [
        ("CPU", 160.0, "160 core-seconds"),
        ("CPU", 1800.0, "30.0 core-minutes"),
        ("CPU", 7200.0, "2.00 core-hours"),
        ("GPU", 3.6e9, "1,000,000 GPU-hours"),
        ("GPU", 3.6e-3, "0.0036 GPU-seconds"),
    ],
)
def test_compute_has_a_sensible_unit(kind: DeviceKind, budget: float, text: str) -> None:
    assert units.ComputeUnit.for_budget(kind, budget).text(budget) == text


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (units.quantity, 0.0, "0"),
        (units.quantity, 12345.6, "12,346"),
        (units.quantity, 1e-7, "1e-07"),
        (units.quantity, math.inf, "∞"),
        (units.score, 0.88456, "0.8846"),
        (units.score, 1e-5, "1e-05"),
        (units.score, None, "–"),
        (units.score, math.nan, "–"),
        (units.score, -math.inf, "−∞"),
        (units.difference, 0.00212, "0.0021"),
        (units.difference, 0.000366, "0.0004"),
        (units.difference, 0.0000366, "3.7e-05"),
        (units.difference, -0.00212, "−0.0021"),
        (units.signed, 0.00212, "+0.0021"),
        (units.signed, math.nan, "–"),
        (units.p_value, 0.00001, "< 0.001"),
        (units.difference, 0.0, "0.0000"),
        (units.percent, 0.0, "0.0 %"),
        (units.percent, 0.00001, "< 0.1 %"),
        (units.percent, 0.99999, "> 99.9 %"),
        (units.percent, 1.0, "100.0 %"),
        (units.percent, None, "–"),
        (units.seconds, 0.0421, "0.0421 s"),
        (units.seconds, 59.99, "60.0 s"),
        (units.seconds, 125.0, "2 min 05 s"),
        (units.seconds, 7805.0, "2 h 10 min"),
        (units.setting, True, "true"),
        (units.setting, None, "none"),
        (units.setting, 0.00123456, "0.001235"),
        (units.setting, "relu", "relu"),
    ],
)
def test_numbers_read_well(function: object, value: object, text: str) -> None:
    assert function(value) == text  # type: ignore[operator]
