"""The schedule that a winner's weights went through."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.contract.records import CellRecord, ParameterRecord, Parent, Report
from reports.analysis import analyse
from reports.analysis.schedule import schedule
from reports.figures import inline_svg
from reports.figures.schedule import (
    MOST_PARAMETERS,
    describe_schedule,
    draw_schedule,
    drawn_parameters,
)
from reports.figures.style import NARROW, WIDE, Layout, figure_style
from reports.run import Cell
from reports.store import read_run
from tests.reports import make_run
from tests.reports.make_run import report, study, write_realistic_run

SPACE = study().benchmark.space


def make_cell(*reports: Report) -> Cell:
    record = CellRecord(events=0, events_sha256="", **make_run.cell("pbt"))
    return Cell(record, reports, ())


CELL = make_cell(
    report(0, 1, 0.1, 1, config={"lr": 0.1, "batch": 32}),
    report(1, 1, 0.2, 2, config={"lr": 0.5, "batch": 32}),
    report(0, 2, 0.4, 4, config={"lr": 0.1, "batch": 32}),
    report(1, 3, 0.5, 6, config={"lr": 0.08, "batch": 64}, parent=Parent(trial=0, epoch=2)),
    report(1, 4, 0.6, 8, config={"lr": 0.08, "batch": 64}),
)


def test_exactly() -> None:
    frame = schedule(CELL, SPACE, 1, 4)
    expected = pd.DataFrame(
        {
            "epoch": [1, 2, 3, 4],
            "trial": [0, 0, 1, 1],
            "exploited": [False, False, True, False],
            "validation_score": [0.1, 0.4, 0.5, 0.6],
            "config/lr": pd.Series([0.1, 0.1, 0.08, 0.08], dtype=object),
            "config/batch": pd.Series([32, 32, 64, 64], dtype=object),
        }
    )
    pd.testing.assert_frame_equal(frame, expected)
    assert describe_schedule(frame) == (
        "The 4 epochs of training behind the incumbent, in 2 trials: lr from 0.1 to 0.08 in "
        "1 step; batch from 32 to 64 in 1 step."
    )


def test_only_what_changed_is_in_it() -> None:
    assert schedule(CELL, {"batch": SPACE["batch"]}, 1, 4).columns[4:].tolist() == ["config/batch"]


def test_nothing_changed_or_an_epoch_is_missing() -> None:
    same = schedule(CELL, SPACE, 0, 2)
    missing = schedule(make_cell(report(0, 2, 0.5, 1)), SPACE, 0, 2)
    for frame in (same, missing, schedule(CELL, SPACE, 7, 1)):
        assert frame.empty
        assert list(frame) == ["epoch", "trial", "exploited", "validation_score"]
        assert "never changed" in describe_schedule(frame)


@pytest.mark.parametrize("mode", ["max", "min"])
def test_realistic_lineages(tmp_path: Path, mode: Any) -> None:
    run = read_run(write_realistic_run(tmp_path, ["pbt", "random/fifo"], range(8), mode=mode))
    finals = analyse(run).finals
    found = 0
    for row in finals.to_dict("records"):
        cell = run.cells[row["strategy"], row["seed"]]
        frame = schedule(cell, SPACE, row["trial"], row["epoch"])
        if frame.empty:
            continue
        found += 1
        assert row["strategy"] == "pbt"
        assert frame["epoch"].tolist() == list(range(1, len(frame) + 1))
        assert frame["validation_score"].iloc[-1] == row["validation_score"]
        assert frame["config/lr"].iloc[-1] == row["config/lr"]
        switched = frame["trial"] != frame["trial"].shift(fill_value=frame["trial"].iloc[0])
        assert (switched <= frame["exploited"]).all()
        for layout in (WIDE, NARROW):
            assert "epochs of training" in svg_of(frame, layout)
    assert found


# Drawing --------------------------------------------------------------------------------------


def svg_of(frame: pd.DataFrame, layout: Layout, space: Any = SPACE) -> str:
    with figure_style():
        return inline_svg(draw_schedule(frame, space, "accuracy", layout), "x", "title", "text")


def long_schedule(epochs: int, every: int, parameters: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Parameter i changes at every (i + 1)th exploited checkpoint."""
    turn = [e // every for e in range(epochs)]
    frame = pd.DataFrame(
        {
            "epoch": range(1, epochs + 1),
            "trial": turn,
            "exploited": [e > 0 and e % every == 0 for e in range(epochs)],
            "validation_score": [math.nan, *(1 - 1 / e for e in range(1, epochs))],
            **{
                f"config/p{i}": pd.Series([0.9 ** (t // (i + 1)) for t in turn], dtype=object)
                for i in range(parameters)
            },
        }
    )
    space = {f"p{i}": SPACE["lr"] for i in range(parameters)}
    return frame, space


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_the_parameters_that_changed_most_often_are_drawn(layout: Layout) -> None:
    frame, space = long_schedule(500, 5, 9)
    svg = svg_of(frame[frame.columns[::-1]], layout, space)
    assert len(svg.encode()) < 80_000
    names = [f"p{i}" for i in range(9)]
    assert [name for name in names if f">{name}</text>" in svg] == names[:MOST_PARAMETERS]
    assert drawn_parameters(frame) == names[:MOST_PARAMETERS]


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_ugly_data(layout: Layout) -> None:
    name = "$x$ <b>" + "長" * 50
    space = {name: ParameterRecord(type="categorical", choices=["<i>", "b" * 99, None]), **SPACE}
    values = [math.nan, "<i>", "b" * 99, None]
    scores = [math.nan, math.inf, -math.inf, math.nan]
    frame = pd.DataFrame(
        {
            "epoch": [1, 2, 3, 4], "trial": [10**6, 7, 7, 7],
            "exploited": [False, True, True, True], "validation_score": scores,
            f"config/{name}": pd.Series(values, dtype=object),
            "config/lr": pd.Series([0.0, 5.0, None, math.inf], dtype=object),
        }
    )  # fmt: skip
    svg = svg_of(frame, layout, space)
    assert "<b>" not in svg
    assert "&lt;i&gt;" in svg


def test_early_scores_do_not_flatten_the_others() -> None:
    frame, space = long_schedule(40, 10, 1)
    frame["validation_score"] = [1e6] + [0.5 + e / 100 for e in range(39)]
    with figure_style():
        axes = draw_schedule(frame, space, "s", WIDE).axes[0]
    assert axes.get_ylim()[1] < 1


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_two_epochs(layout: Layout) -> None:
    frame = schedule(
        make_cell(
            report(0, 1, 0.1, 1, config={"lr": 0.1}),
            report(1, 2, 0.1, 3, config={"lr": 0.2}, parent=Parent(trial=0, epoch=1)),
        ),
        SPACE, 1, 2,
    )  # fmt: skip
    svg = svg_of(frame, layout)
    assert "trial 0" in svg
    assert "trial 1" in svg
