"""Configurations in parallel coordinates: which lines, where they run, and what is drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.contract import Mode
from harness.contract.records import ParameterRecord
from reports.analysis import analyse
from reports.analysis.configurations import (
    BEST_LINES,
    MOST_LINES,
    ParallelPlot,
    configurations,
    parallel_axes,
    parallel_plot,
)
from reports.analysis.frames import report_columns, reports_frame, trials_frame
from reports.figures import inline_svg
from reports.figures.parallel_coordinates import describe_configurations, draw_configurations
from reports.figures.style import NARROW, WIDE, Layout, figure_style, strategy_styles
from reports.run import Run
from reports.store import read_run
from tests.reports.make_run import (
    cell,
    end,
    report,
    study,
    write_cell,
    write_realistic_run,
    write_study,
)


def configurations_of(run: Run) -> pd.DataFrame:
    finals = analyse(run).finals
    return configurations(run, reports_frame(report_columns(run)), trials_frame(run), finals)


def hand_made(path: Path, mode: Mode = "max") -> pd.DataFrame:
    write_study(path, study(mode=mode))
    events = [
        report(0, 1, 0.5, 10, config={"lr": 0.1, "batch": 32}),
        report(0, 2, 0.9, 20, config={"lr": 0.2, "batch": 32}),
        report(0, 3, 0.1, 30, config={"lr": 0.3, "batch": 32}),
        report(1, 1, math.nan, 40, config={"lr": 0.4}),
        report(1, 2, math.inf, 50, "diverged", config={"lr": 0.5}),
        end(1, 2, "diverged"),
        end(2, 0, "failed", config={"lr": 0.6, "batch": None}, retried=True),
        end(2, 0, "failed", config={"lr": 0.7, "batch": 64}),
    ]
    write_cell(path, cell(), events)
    return configurations_of(read_run(path))


@pytest.mark.parametrize(("mode", "score", "lr"), [("max", 0.9, 0.2), ("min", 0.1, 0.3)])
def test_a_score_stands_beside_the_configuration_that_had_it(
    tmp_path: Path, mode: Mode, score: float, lr: float
) -> None:
    frame = hand_made(tmp_path, mode)
    assert frame["score"].tolist() == pytest.approx([score, math.nan, math.nan], nan_ok=True)
    assert frame["config/lr"].tolist() == [lr, 0.5, 0.7]
    batch = frame["config/batch"].tolist()
    assert (batch[0], batch[2]) == (32, 64)
    assert math.isnan(batch[1])
    assert frame["epochs"].tolist() == [3, 2, 0]
    assert frame["status"].tolist() == ["cut", "diverged", "failed"]
    assert frame["is_incumbent"].tolist() == [True, False, False]


@pytest.mark.parametrize("mode", ["max", "min"])
def test_realistic_trials(tmp_path: Path, mode: Mode) -> None:
    run = read_run(write_realistic_run(tmp_path, mode=mode, failure_rate=0.4))
    frame = configurations_of(run)
    trials = trials_frame(run)
    assert frame[["strategy", "seed", "trial"]].equals(trials[["strategy", "seed", "trial"]])
    assert frame["config/lr"].notna().all()
    assert frame["is_incumbent"].sum() == len(run.cells)
    sound = frame[frame["status"] != "failed"].groupby(["strategy", "seed"])["score"]
    best = sound.max() if mode == "max" else sound.min()
    assert best.tolist() == pytest.approx(
        frame[frame["is_incumbent"]].groupby(["strategy", "seed"])["score"].first().tolist()
    )


def some(
    count: int, space: dict[str, ParameterRecord], seed: int = 0, scored: float = 0.9
) -> pd.DataFrame:
    """Random configurations, of which a part has no score."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "strategy": random.choice(["a", "b"], count),
            "seed": 0,
            "trial": range(count),
            "status": "finished",
            "epochs": 3,
            "score": np.where(
                random.uniform(size=count) < scored, random.normal(size=count), np.nan
            ),
            "is_incumbent": False,
        }
    )
    best = frame.dropna(subset="score").sort_values("score").groupby("strategy").tail(1).index
    frame.loc[best, "is_incumbent"] = True
    for name, parameter in space.items():
        if parameter.type == "categorical":
            values = random.choice(np.array(parameter.choices, dtype=object), count)
        else:
            values = random.uniform(parameter.low or 0, parameter.high or 1, count).astype(object)
        frame[f"config/{name}"] = pd.Series(list(values), dtype=object)
    return frame


SPACE = {
    "lr": ParameterRecord(type="float", low=1e-5, high=1.0, log=True, mutable=True),
    "kind": ParameterRecord(type="categorical", choices=["adam", "sgd"]),
    "momentum": ParameterRecord(type="float", low=0.0, high=0.99),
    "depth": ParameterRecord(type="integer", low=1, high=4),
}
STYLES = strategy_styles(["a", "b"])


def test_scores_lie_by_rank_and_better_is_higher() -> None:
    frame = some(6, SPACE).assign(score=[0.3, math.nan, 0.1, 1e9, 0.1, 0.2])
    for mode, expected in (
        ("max", [0.75, math.nan, 0.125, 1.0, 0.125, 0.5]),
        ("min", [0.25, math.nan, 0.875, 0.0, 0.875, 0.5]),
    ):
        scales, places = parallel_axes(frame, SPACE, "loss", mode)  # type: ignore[arg-type]
        assert places[:, -1].tolist() == pytest.approx(expected, nan_ok=True)
        labels = [label for _, label in scales[-1].ticks]
        assert labels[:: 1 if mode == "max" else -1] == [
            "0.1000",
            "0.1000",
            "0.2000",
            "0.3000",
            "1e+09",
        ]
        assert [scale.name for scale in scales] == [*SPACE, "loss"]


def test_equal_scores_and_none_at_all() -> None:
    frame = some(3, SPACE)
    scales, places = parallel_axes(frame.assign(score=0.5), SPACE, "s", "max")
    assert (places[:, -1] == 0.5).all()
    assert scales[-1].ticks == ((0.5, "0.5000"),)
    scales, places = parallel_axes(frame.assign(score=math.nan), SPACE, "s", "max")
    assert np.isnan(places[:, -1]).all()
    assert scales[-1].ticks == ()


@pytest.mark.parametrize("mode", ["max", "min"])
def test_the_best_the_incumbents_and_an_even_sample_are_drawn(mode: Mode) -> None:
    frame = some(5000, SPACE)
    odd = frame["score"].sort_values().index[2500]
    frame.loc[odd, "is_incumbent"] = True
    plot = parallel_plot(frame, SPACE, "s", mode)
    assert len(plot.lines) == MOST_LINES
    assert plot.left_out == 5000 - MOST_LINES
    assert plot.lost == plot.lines["score"].isna().sum() == pytest.approx(0.1 * MOST_LINES, abs=6)
    scores = plot.lines["score"].dropna()
    assert scores.is_monotonic_decreasing if mode == "max" else scores.is_monotonic_increasing
    best = frame["score"].sort_values(ascending=mode == "min").head(BEST_LINES)
    assert scores.head(BEST_LINES).tolist() == best.tolist()
    assert set(frame.loc[frame["is_incumbent"], "trial"]) <= set(plot.lines["trial"])
    assert np.median(scores) == pytest.approx(frame["score"].median(), abs=0.35)
    # Places are by all trials, not only by the lines.
    assert np.nanmax(plot.places[:, -1]) == 1
    assert plot.places.shape == (MOST_LINES, 5)


def test_of_many_parameters_fewer_lines_are_drawn() -> None:
    space = {f"p{i}": SPACE["lr"] for i in range(30)}
    plot = parallel_plot(some(1000, space), space, "s", "max")
    assert len(plot.lines) == 3200 // 31


# Drawing --------------------------------------------------------------------------------------


def svg_of(plot: ParallelPlot, layout: Layout, styles: Any = STYLES) -> str:
    with figure_style():
        return inline_svg(draw_configurations(plot, styles, layout), "x", "title", "text")


@pytest.mark.parametrize("layout", [WIDE, NARROW])
@pytest.mark.parametrize("parameters", [1, 4, 30])
def test_small_whatever_it_shows(layout: Layout, parameters: int) -> None:
    kinds = list(SPACE.values())
    space = {f"parameter_{i}": kinds[i % 4] for i in range(parameters)}
    plot = parallel_plot(some(3000, space), space, "validation_accuracy", "max")
    svg = svg_of(plot, layout)
    assert len(svg.encode()) < 120_000
    assert all(f">{name}</text>" in svg for name in [*space, "validation_accuracy"])
    assert "no score" in svg


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_ugly_names_and_values(layout: Layout) -> None:
    name = "$x$ <b> 图" + "long" * 40
    space = {
        name: ParameterRecord(type="categorical", choices=["<i>", "$y$", "長い" * 30, None]),
        "of $x$": ParameterRecord(type="float", low=0.5, high=0.5),
        "score": SPACE["lr"],
    }
    frame = some(20, space).assign(strategy=name)
    frame.loc[3, "config/of $x$"] = None
    frame.loc[4, "config/score"] = math.inf
    frame.loc[5, "config/score"] = -1.0
    plot = parallel_plot(frame, space, "score", "min")
    svg = svg_of(plot, layout, strategy_styles([name]))
    assert "<b>" not in svg
    assert "&lt;i&gt;" in svg
    assert ">none</text>" in svg


@pytest.mark.parametrize("layout", [WIDE, NARROW])
@pytest.mark.parametrize("scored", [0.0, 1.0])
def test_a_single_trial(layout: Layout, scored: float) -> None:
    plot = parallel_plot(some(1, SPACE, scored=scored), SPACE, "score", "max")
    assert ("no score" in svg_of(plot, layout)) == (scored == 0)
    assert "1 trial over 4 parameters" in describe_configurations(plot)


def test_the_description_says_what_is_to_be_seen(tmp_path: Path) -> None:
    frame = hand_made(tmp_path)
    plot = parallel_plot(frame, study().benchmark.space, "validation_accuracy", "max")
    assert describe_configurations(plot) == (
        "Parallel coordinates of 3 trials over 2 parameters; the best, of random/fifo with seed 0, "
        "reached 0.9000 at lr 0.2, batch 32; 2 of the lines have no score."
    )
    plot = parallel_plot(some(5000, SPACE), SPACE, "s", "max")
    assert f"{MOST_LINES} of 5,000 trials" in describe_configurations(plot)
