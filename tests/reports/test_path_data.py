"""Path data in fewer bytes: the same points."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.figures.path_data import compact


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("M 10 20 \nL 30.5 20 \nL 30.5 18.25 \nL 10 20 \nz\n", "M10 20h20.5v-1.75l-20.5 1.75z"),
        ("M 1.006 2 L 1.004 2.004", "M1.01 2h-.01"),
        ("M 0 0 L 1 1 z M 5 5 L 6 5 z L 7 7", "M0 0l1 1zM5 5h1zl2 2"),
        ("M -0.5 -0.25 L -1 -0.25", "M-.5-.25h-.5"),
        ("M 3e-7 1 L 1e-5 1", "M0 1h0"),
    ],
)
def test_exactly(written: str, expected: str) -> None:
    assert compact(written) == expected


def test_curves_stay() -> None:
    circle = "M 0 3 \nC 0.795609 3 1.55874 2.683901 2.12132 2.12132 \nz\n"
    assert compact(circle) == circle


def points(path: str) -> list[tuple[float, float]]:
    """Where a compact path goes."""
    found: list[tuple[float, float]] = []
    x = y = 0.0
    for command, numbers in re.findall(r"([Mlhv])([^Mlhvz]*)", path):
        values = [float(number) for number in re.findall(r"-?\d*\.?\d+", numbers)]
        if command == "M":
            x, y = values
        else:
            dx, dy = {"l": values, "h": [*values, 0.0], "v": [0.0, *values]}[command]
            x, y = x + dx, y + dy
        found.append((x, y))
    return found


coordinates = st.floats(-1000, 1000, allow_nan=False).map(lambda x: round(x, 6))


@given(st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=40))
def test_rounding_does_not_add_up(line: list[tuple[float, float]]) -> None:
    path = "M " + " \nL ".join(f"{x:.6f} {y:.6f}" for x, y in line)
    for there, here in zip(line, points(compact(path)), strict=True):
        assert there == pytest.approx(here, abs=0.0051)
