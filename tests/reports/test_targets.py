"""When targets were reached, against a budget of 100 device-seconds."""

from __future__ import annotations

import math

import pytest

from reports.analysis import analyse
from reports.run import Run
from tests.reports.make_run import report, run_of, study

TARGETS = [0.4, 0.6]


def run_with_targets() -> Run:
    base = study(["a"], [0])
    benchmark = base.benchmark.model_copy(update={"targets": TARGETS})
    return run_of(
        {
            ("a", 0): [report(0, 1, 0.5, 20.0), report(0, 2, 0.6, 40.0)],
            ("a", 1): [report(0, 1, math.nan, 10.0), report(1, 1, 0.45, 30.0)],
            ("a", 2): [report(0, 1, 0.1, 10.0)],
            ("b", 0): [],
        },
        seeds=[0, 1, 2],
        benchmark=benchmark,
    )


def test_the_time_until_a_target_was_reached() -> None:
    found = analyse(run_with_targets())
    table = found.time_to_target.set_index(["strategy", "target"])
    easy, hard = table.loc[("a", 0.4)], table.loc[("a", 0.6)]
    assert (easy["reached"], easy["seeds"], easy["mean"], easy["median"]) == (2, 3, 50.0, 30.0)
    assert (hard["reached"], hard["mean"], hard["median"]) == (1, 80.0, math.inf)
    assert 0 <= hard["low"] <= hard["mean"] <= hard["high"] <= 100
    # b has one finished cell, without a score; the two that are missing count for nothing.
    assert tuple(table.loc[("b", 0.4), ["reached", "seeds"]]) == (0, 1)


def test_who_never_gets_there_stays_in_the_denominator() -> None:
    reached = analyse(run_with_targets()).reached
    own = reached[(reached["strategy"] == "a") & (reached["target"] == 0.4)]
    assert own["held_device_seconds"].tolist() == [0.0, 20.0, 30.0, 100.0]
    assert own["fraction"].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    assert own["reached"].tolist() == [0, 1, 2, 2]


def test_without_targets_there_is_nothing() -> None:
    found = analyse(run_of({("a", 0): [report(0, 1, 0.5, 20.0)]}))
    assert found.reached.empty and found.time_to_target.empty
