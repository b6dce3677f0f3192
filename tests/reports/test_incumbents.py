"""Best so far: exact curves, and what must hold for any scores."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract import Mode
from reports.analysis.curves import focus, mean_and_spread, score_curves
from reports.analysis.incumbents import final_incumbents, incumbent_steps
from reports.statistics import step_values


def reports_of(
    scores: list[tuple[float, float]], strategy: str = "s", seed: int = 0
) -> pd.DataFrame:
    """Reports of one cell from (held device-seconds, score); the test score is half the score."""
    return pd.DataFrame(
        {
            "strategy": strategy,
            "seed": seed,
            "held_device_seconds": [held for held, _ in scores],
            "reported_s": [held for held, _ in scores],
            "trial": range(len(scores)),
            "epoch": 1,
            "validation_score": [score for _, score in scores],
            "test_score": [score / 2 for _, score in scores],
        }
    )


UGLY = [
    (1.0, math.nan), (2.0, 0.5), (3.0, math.inf), (4.0, 0.4), (5.0, 0.5), (6.0, -math.inf),
    (7.0, 0.7), (8.0, 0.3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "steps"),
    [("max", [(2.0, 0.5), (7.0, 0.7)]), ("min", [(2.0, 0.5), (4.0, 0.4), (8.0, 0.3)])],
)
def test_only_finite_improvements_are_incumbents(mode: Mode, steps: list[tuple]) -> None:
    found = incumbent_steps(reports_of(UGLY), mode)
    assert [*zip(found["held_device_seconds"], found["validation_score"], strict=True)] == steps
    assert final_incumbents(found)["validation_score"].tolist() == [steps[-1][1]]


def test_reports_count_in_the_order_of_their_compute() -> None:
    found = incumbent_steps(reports_of([(5.0, 0.9), (1.0, 0.2), (3.0, 0.8)]), "max")
    assert found["held_device_seconds"].tolist() == [1.0, 3.0, 5.0]


def test_nothing_finite_is_no_incumbent() -> None:
    nothing = incumbent_steps(reports_of([(1.0, math.nan)]), "min")
    assert nothing.empty
    assert score_curves(nothing, 10.0).empty
    assert focus(score_curves(nothing, 10.0), "min") is None
    assert incumbent_steps(reports_of([]), "max").empty


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(width=32)), max_size=30),
    st.sampled_from(get_args(Mode)),
)
def test_best_so_far_only_gets_better(scores: list[tuple[float, float]], mode: Mode) -> None:
    found = incumbent_steps(reports_of(scores), mode)
    sign = 1 if mode == "max" else -1
    values = sign * found["validation_score"].to_numpy()
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()
    assert found["held_device_seconds"].is_monotonic_increasing
    finite = [sign * score for _, score in scores if math.isfinite(score)]
    assert values[-1:].tolist() == ([max(finite)] if finite else [])


def test_a_step_carries_forward_and_has_no_value_before() -> None:
    values = step_values(np.array([1.0, 3.0]), np.array([0.5, 0.7]), np.array([0.9, 1, 2, 3, 9]))
    np.testing.assert_array_equal(values, [np.nan, 0.5, 0.5, 0.7, 0.7])


def test_a_mean_curve_begins_when_every_seed_has_a_score() -> None:
    reports = pd.concat(
        [
            reports_of([(1.0, 0.2), (4.0, 0.6)], seed=0),
            reports_of([(2.0, 0.4)], seed=1),
            reports_of([(9.0, math.nan)], seed=2),
        ]
    )
    curve = score_curves(incumbent_steps(reports, "max"), 10.0)
    assert curve["held_device_seconds"].tolist() == [2.0, 4.0, 10.0]
    assert curve["validation"].tolist() == pytest.approx([0.3, 0.5, 0.5])
    assert curve["low"].tolist() == pytest.approx([0.2, 0.4, 0.4])
    assert curve["high"].tolist() == pytest.approx([0.4, 0.6, 0.6])
    assert curve["test"].tolist() == pytest.approx([0.15, 0.25, 0.25])
    assert curve["seeds"].tolist() == [2, 2, 2]


def test_one_seed_has_no_band() -> None:
    curve = score_curves(incumbent_steps(reports_of([(1.0, 0.2)]), "max"), 10.0)
    assert curve["low"].isna().all()
    assert curve["high"].isna().all()


def test_intervals_are_students() -> None:
    # Mean 2, standard deviation 1, so the half width is 4.3027 ÷ √3 at two degrees of freedom.
    mean, low, high = mean_and_spread(np.array([[1.0], [2.0], [3.0]]))
    assert mean == 2
    assert low == pytest.approx(2 - 4.302653 / math.sqrt(3))
    assert high == pytest.approx(2 + 4.302653 / math.sqrt(3))
    assert [float(v[0]) for v in mean_and_spread(np.array([[1.0], [3.0]]))] == [2, 1, 3]


@pytest.mark.parametrize("mode", get_args(Mode))
def test_the_axis_is_not_flattened_by_early_scores(mode: Mode) -> None:
    sign, base = (1, 0.0) if mode == "max" else (-1, 1.0)
    cells = {
        "good": [(1, 0.1), (5, 0.80), (50, 0.88)],
        "fair": [(1, 0.1), (6, 0.81), (60, 0.87)],
        "lost": [(1, 0.1)],
    }
    reports = pd.concat(
        reports_of([(x, base + sign * y) for x, y in points], name)
        for name, points in cells.items()
    )
    found = focus(score_curves(incumbent_steps(reports, mode), 100.0), mode)
    assert found is not None
    assert found.outside == ("lost",)
    worst, best = sorted((base + sign * 0.80, base + sign * 0.88))
    assert found.low < worst < best < found.high
    assert found.high - found.low < 0.1


@pytest.mark.parametrize("scores", [[(1.0, 0.5)], [(1.0, 0.0)], [(1.0, -1e9)]])
def test_the_axis_of_a_single_score_is_not_empty(scores: list[tuple[float, float]]) -> None:
    found = focus(score_curves(incumbent_steps(reports_of(scores), "max"), 10.0), "max")
    assert found is not None
    assert found.low < scores[0][1] < found.high


def test_a_report_past_the_budget_by_rounding_stays_on_its_curve() -> None:
    curve = score_curves(incumbent_steps(reports_of([(10.000001, 0.2)]), "max"), 10.0)
    assert curve["held_device_seconds"].tolist() == [10.000001]
