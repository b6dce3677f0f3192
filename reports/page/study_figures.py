"""The figures of one study: from its analysis to what stands on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reports import units
from reports.analysis import Analysis
from reports.analysis.curves import HELD, WALL, values_at
from reports.analysis.frames import records
from reports.figures import (
    CurveAxes,
    ForestRow,
    draw_device_time,
    draw_epoch_savings,
    draw_forest,
    draw_optimism,
    draw_step_curves,
    draw_time_to_target,
    near_cells,
)
from reports.figures.device_time import ORDER
from reports.figures.style import StrategyStyle, short, short_in_the_middle
from reports.page.figure import PageFigure, Table, make_figure
from reports.page.notes import band_note

MAX_SEEDS_AS_LINES = 5
"""With more, the lines of single seeds would hide the curves."""
TABLE_PLACES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Of the budget: where the tables read the curves."""
STRATEGIES_IN_A_FIGURE = 12
"""A figure with more curves can be read by nobody; tables and CSVs have them all."""


@dataclass(frozen=True)
class Subject:
    """What every figure of a study needs. ``prefix`` keeps keys apart where a page has several
    studies; ``order`` has the best strategy first."""

    analysis: Analysis
    unit: units.ComputeUnit
    styles: Mapping[str, StrategyStyle]
    order: Sequence[str]
    prefix: str

    @property
    def drawn(self) -> list[str]:
        return list(self.order[:STRATEGIES_IN_A_FIGURE])

    @property
    def left_out(self) -> str:
        hidden = len(self.order) - len(self.drawn)
        if not hidden:
            return ""
        return f" The {len(self.drawn)} best of {len(self.order)} strategies; the CSV has all."

    def key(self, name: str) -> str:
        return f"{self.prefix}{name}"


def score_figures(subject: Subject) -> list[tuple[str, PageFigure]]:
    """Best score over compute, over wall-clock time, and regret: (name of the view, figure)."""
    analysis = subject.analysis
    if analysis.focus is None:
        return []
    study = analysis.run.study
    metric, unit = study.benchmark.metric, subject.unit
    better = "up" if study.benchmark.mode == "max" else "down"
    budget = study.budget_device_seconds
    focus = analysis.focus
    limits = (focus.low, focus.high)
    score_label = f"best {short(metric)} so far"
    by_compute = _curves(
        subject,
        analysis.curves,
        CurveAxes(
            HELD, unit.device_seconds, f"{unit.name} held", "validation", score_label, limits,
            budget=budget,
        ),
        key="score",
        title="Best validation score vs compute",
        reading=f"Further {better} is better; further left got there with less compute. "
        "Dotted line: the budget.",
        what=f"the best {metric} so far over {unit.name} held",
    )  # fmt: skip
    wall, wall_name = _time_unit(float(analysis.wall_curves[WALL].max()))
    by_time = _curves(
        subject,
        analysis.wall_curves,
        CurveAxes(WALL, wall, f"{wall_name} since the cell's start", "validation", score_label,
                  limits),
        key="score-time",
        title="Best validation score vs wall-clock time",
        reading=f"Further {better} is better. Time includes the set-up, which the budget does not.",
        what=f"the best {metric} so far over {wall_name} since the start, set-up included",
    )  # fmt: skip
    views = [("by compute", by_compute), ("by time", by_time)]
    if not (analysis.regret["regret"] > 0).any():
        return views
    regret = _curves(
        subject,
        analysis.regret,
        CurveAxes(
            HELD, unit.device_seconds, f"{unit.name} held", "regret", "regret (log scale)",
            _regret_limits(analysis.regret), is_log=True, budget=budget,
        ),
        key="regret",
        title="Regret vs compute",
        reading="Lower is better: the distance from the best score that any cell of this study "
        f"found ({units.score(analysis.best_score)}).",
        what=f"the distance from the best {metric} found, over {unit.name} held, log scale",
    )  # fmt: skip
    return [*views, ("regret", regret)]


def _curves(
    subject: Subject,
    curves: pd.DataFrame,
    axes: CurveAxes,
    *,
    key: str,
    title: str,
    reading: str,
    what: str,
) -> PageFigure:
    analysis = subject.analysis
    known = set(curves["strategy"])
    drawn = [name for name in subject.drawn if name in known]
    shown = curves[curves["strategy"].isin(drawn)]
    finals = curves.groupby("strategy", sort=False)[axes.y].last()
    is_lower_better = axes.y == "regret" or analysis.run.study.benchmark.mode == "min"
    ranked = finals[drawn].sort_values(ascending=is_lower_better, kind="stable")
    texts = {str(name): _final_text(float(value), axes.y) for name, value in ranked.items()}
    outside = set(analysis.focus.outside) if analysis.focus and axes.y == "validation" else set()
    legend = [
        (name, f"{text}  {name}" + (" (off the axis)" if name in outside else ""))
        for name, text in texts.items()
    ]
    seeds = len(analysis.run.study.seeds)
    lines = None
    if 1 < seeds <= MAX_SEEDS_AS_LINES:
        lines = analysis.steps[analysis.steps["strategy"].isin(drawn)]
        if axes.y == "regret":
            gap = (analysis.best_score - lines["validation_score"]).abs()
            lines = lines.assign(regret=gap.clip(lower=axes.y_limits[0]))
        else:
            lines = lines.assign(validation=lines["validation_score"])
    end = float(curves[axes.x].max())
    return make_figure(
        lambda layout: draw_step_curves(shown, axes, subject.styles, legend, layout, lines),
        key=subject.key(key),
        title=title,
        reading=reading,
        alt=f"Step curves of {what}, one per strategy. At the end: "
        + "; ".join(f"{name} {text}" for name, text in texts.items()) + ".",
        caption=" ".join(
            filter(None, (
                f"{what[0].upper()}{what[1:]}{', the mean over seeds' if seeds > 1 else ''}.",
                band_note(seeds),
                "Thin lines: single seeds." if lines is not None else "",
                "A curve begins when every seed of its strategy has a score." if seeds > 1 else "",
                "The axis leaves out the first, bad scores." if axes.y == "validation" else "",
            ))
        ) + subject.left_out,
        table=_curve_table(curves, axes, subject.order, end),
        data=curves,
    )  # fmt: skip


def _final_text(value: float, column: str) -> str:
    return units.difference(value) if column == "regret" else units.score(value)


def _curve_table(curves: pd.DataFrame, axes: CurveAxes, order: Sequence[str], end: float) -> Table:
    places = np.array([share * end for share in TABLE_PLACES])
    values = values_at(curves, places, axes.y)
    rows = [
        [name, *(_final_text(value, axes.y) for value in values.loc[[name]].to_numpy()[0])]
        for name in order
        if name in values.index
    ]
    header = ["strategy", *(units.quantity(place / axes.x_unit) for place in places)]
    return Table(f"{axes.y_label} at so many {axes.x_label}", header, rows)


def _regret_limits(regret: pd.DataFrame) -> tuple[float, float]:
    """A log axis from what is left at the end to where most curves were soon after the start."""
    positive = regret.loc[regret["regret"] > 0, "regret"]
    last = regret.groupby("strategy", sort=False)["regret"].last()
    smallest = float(last[last > 0].min()) if (last > 0).any() else float(positive.min())
    largest = float(positive.max())
    low = smallest / 2
    return low, max(largest, 10 * low)


def _time_unit(seconds: float) -> tuple[float, str]:
    if seconds >= 7200:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds >= 600 else (1.0, "seconds")


def target_figure(subject: Subject) -> PageFigure | None:
    """The fraction of seeds that reached each target, by compute."""
    analysis = subject.analysis
    study = analysis.run.study
    targets = study.benchmark.targets
    if not targets or analysis.time_to_target.empty:
        return None
    known = set(analysis.reached["strategy"])
    drawn = [name for name in subject.drawn if name in known]
    summary = analysis.time_to_target
    rows = []
    for name in subject.order:
        for row in records(summary[summary["strategy"] == name]):
            unit = subject.unit
            rows.append(
                [
                    name, units.score(row["target"]), f"{row['reached']} of {row['seeds']}",
                    unit.number(row["mean"]), unit.number(row["low"]), unit.number(row["high"]),
                    unit.number(row["median"]) if math.isfinite(row["median"]) else "never",
                ]
            )  # fmt: skip
    hardest = summary[summary["target"] == targets[-1]]
    return make_figure(
        lambda layout: draw_time_to_target(
            analysis.reached, targets, drawn, subject.styles, study.budget_device_seconds,
            subject.unit, study.benchmark.metric, layout,
        ),
        key=subject.key("targets"),
        title="Seeds that reached a target, by compute",
        reading="Higher and further left is better: more seeds got there, with less compute. One "
        "panel per target.",
        alt="Step curves of the fraction of seeds that reached each target. The hardest, "
        f"{units.score(targets[-1])}: "
        + "; ".join(
            f"{row['strategy']} {row['reached']} of {row['seeds']}"
            for row in records(hardest)
        )
        + ".",
        caption=f"Targets are {study.benchmark.metric} of the incumbent, fixed before the study. "
        "A seed that never gets there stays in the denominator." + subject.left_out,
        table=Table(
            f"Until a target was reached, in {subject.unit.name}: the mean, a seed that never got "
            "there counted with the whole budget, with its 95 % t-interval; and the median",
            ["strategy", "target", "seeds there", "mean", "low", "high", "median"],
            rows,
        ),
        data=analysis.target_times,
    )  # fmt: skip


def effects_figure(subject: Subject) -> PageFigure | None:
    """What changing the searcher or the scheduler alone does."""
    analysis = subject.analysis
    effects = analysis.effects[analysis.effects["pairs"] > 0]
    if effects.empty:
        return None
    study = analysis.run.study
    metric = study.benchmark.test_metric if analysis.by_test else study.benchmark.metric
    groups = [
        (
            f"{kind} effect",
            [
                _forest_row(row, subject.styles)
                for row in records(effects[effects["effect"] == kind])
            ][:STRATEGIES_IN_A_FIGURE],
        )
        for kind in ("scheduler", "searcher")
        if (effects["effect"] == kind).any()
    ]
    rows = [
        [
            f"{row['other']} → {row['strategy']}", row["effect"],
            units.signed(row["difference"]), units.signed(row["low"]), units.signed(row["high"]),
            units.p_value(row["p_holm"]), units.percent(row["improvement"]),
            f"{units.percent(row['improvement_low'])} to {units.percent(row['improvement_high'])}",
            str(row["pairs"]),
        ]
        for row in records(effects)
    ]  # fmt: skip
    return make_figure(
        lambda layout: draw_forest(groups, f"better {short(metric or '')} →", layout),
        key=subject.key("effects"),
        title="Searcher effect and scheduler effect",
        reading="Right of the line the second strategy is better. A filled mark: the two are told "
        "apart.",
        alt="; ".join(
            f"{row['other']} to {row['strategy']}: {units.signed(row['difference'])}"
            for row in records(effects)
        )
        + ".",
        caption="Mean difference over seeds of strategies that share the searcher, or the "
        "scheduler, with its 95 % t-interval; told apart by a paired t-test, Holm-corrected over "
        "all pairs of the study.",
        table=Table(
            "Differences of the incumbent's score, paired by seed (above 0: the second is better), "
            "and the probability that the second does better on a seed (ties count half)",
            ["from → to", "effect", "difference", "low", "high", "p (Holm)",
             "does better", "95 % interval", "seeds"],
            rows,
        ),
        data=effects,
    )  # fmt: skip


HALF_A_LINE = 18
"""Characters: two names share a line of a phone's width."""


def _forest_row(row: dict[str, Any], styles: Mapping[str, StrategyStyle]) -> ForestRow:
    other, own = (short_in_the_middle(row[who], HALF_A_LINE) for who in ("other", "strategy"))
    return ForestRow(
        label=f"{other} → {own}",
        note=f"{units.signed(row['difference'])}; better on {units.percent(row['improvement'])} "
        "of seeds",
        estimate=row["difference"],
        low=row["low"],
        high=row["high"],
        colour=styles[row["strategy"]].colour,
        is_filled=bool(row["is_told_apart"]),
    )


def savings_figure(subject: Subject) -> PageFigure | None:
    """Epochs run by rung, beside run-to-completion and the synchronous ideal."""
    analysis = subject.analysis
    if not len(analysis.savings) or analysis.savings["epochs_run"].sum() == 0:
        return None
    saved = {row["strategy"]: row for row in records(analysis.savings)}
    ideal = {row["strategy"]: row for row in records(analysis.ideal)}
    unit = subject.unit
    rows = [
        [
            name, f"{row['trials']:,}", f"{row['epochs_run']:,}", f"{row['epochs_full']:,}",
            units.percent(row["epoch_savings"]), units.percent(row["epochs_of_cap"]),
            units.percent(ideal[name]["share"]) if name in ideal else units.NOTHING,
            unit.number(row["device_seconds_saved"]), units.percent(row["device_savings"]),
        ]
        for name in subject.order
        if (row := saved.get(name)) is not None
    ]  # fmt: skip
    return make_figure(
        lambda layout: draw_epoch_savings(analysis.rungs, analysis.ideal, subject.drawn, layout),
        key=subject.key("savings"),
        title="Epochs run by rung, as a share of run-to-completion",
        reading="The whole bar is what the same trials would have taken had the scheduler stopped "
        "none; the pale end was saved.",
        alt="One bar per strategy. Saved: "
        + "; ".join(f"{row[0]} {row[4]}" for row in rows) + ".",
        caption="Epochs run on the way to each rung, over all seeds. Diamond: synchronous "
        "successive halving with as many trials and the same rungs." + subject.left_out,
        table=Table(
            "Epochs over all seeds. “Of trials × cap” and the synchronous ideal take every trial "
            f"as one that could run to the cap. {unit.name} saved: the stopped trials' remaining "
            "epochs at their own cost so far",
            ["strategy", "trials", "epochs run", "run to completion", "epochs saved",
             "of trials × cap", "ideal of trials × cap", f"{unit.name} saved", "saved"],
            rows,
        ),
        data=analysis.rungs,
    )  # fmt: skip


def device_time_figure(subject: Subject) -> PageFigure | None:
    """The ledger by kind of work."""
    analysis = subject.analysis
    if not (analysis.device_time["held"] > 0).any():
        return None
    unit, by_strategy = subject.unit, analysis.device_time_by_strategy.to_dict("index")
    rows = []
    for name in subject.order:
        own = by_strategy.get(name)
        if own is None or own["held"] <= 0:
            continue
        cells = [
            f"{unit.number(own[kind])} ({units.percent(own[kind] / own['held'])})" for kind in ORDER
        ]
        rows.append([name, *cells, unit.number(own["held"])])
    return make_figure(
        lambda layout: draw_device_time(analysis.device_time_by_strategy, subject.drawn, layout),
        key=subject.key("device-time"),
        title="Device time by kind of work",
        reading="Training and evaluation are the useful part; the rest is what the strategy's "
        "decisions and the machinery cost.",
        alt="One bar per strategy, as shares of the device time held; the table has the numbers.",
        caption="Shares of the device time held, over all seeds." + subject.left_out,
        table=Table(
            f"{unit.name} by kind, over all seeds, with their share. Billed set-up is that of "
            "worker groups that a trial broke",
            [
                "strategy",
                "train",
                "evaluate",
                "checkpoint",
                "restore",
                "set-up",
                "lost",
                "idle",
                "held",
            ],
            rows,
        ),
        data=analysis.device_time,
    )


def optimism_figure(subject: Subject) -> PageFigure | None:
    """Validation against test scores of the final incumbents."""
    analysis = subject.analysis
    cells = analysis.optimism
    if not analysis.by_test or cells[["validation", "test"]].dropna().empty:
        return None
    benchmark = analysis.run.study.benchmark
    metrics = (benchmark.metric, benchmark.test_metric or "")
    near = near_cells(cells)
    hidden = len(cells) - len(near)
    by_strategy = records(analysis.optimism_by_strategy)
    has_again = bool((cells["retrained"] > 0).any())
    header = ["strategy", *metrics, "optimism", "low", "high"]
    if has_again:
        header += ["retrained test", "sd over seeds", "luck", "low", "high"]
    rows = []
    for row in sorted(by_strategy, key=lambda row: list(subject.order).index(row["strategy"])):
        cells_of = [
            row["strategy"], units.score(row["validation"]), units.score(row["test"]),
            units.signed(row["optimism"]), units.signed(row["optimism_low"]),
            units.signed(row["optimism_high"]),
        ]  # fmt: skip
        if has_again:
            cells_of += [
                units.score(row["retrained_test"]), units.difference(row["retrained_test_sd"]),
                units.signed(row["lucky"]), units.signed(row["lucky_low"]),
                units.signed(row["lucky_high"]),
            ]  # fmt: skip
        rows.append(cells_of)
    return make_figure(
        lambda layout: draw_optimism(near, subject.drawn, subject.styles, metrics, layout),
        key=subject.key("optimism"),
        title="Validation against test score",
        reading="On the dotted line both are equal; the further from it to the validation side, "
        "the more picking the best of many promised too much.",
        alt="A mark per cell. Mean optimism: "
        + "; ".join(f"{row['strategy']} {units.signed(row['optimism'])}" for row in by_strategy)
        + ".",
        caption="Final incumbents, one mark per cell."
        + (f" {units.counted(hidden, 'cell')} far from the others not drawn." if hidden else "")
        + subject.left_out,
        table=Table(
            "Means over seeds. Optimism: how much better the validation score is than the test "
            "score"
            + (
                "; luck: how much better the incumbent's test score is than that of its "
                "configuration trained again with fresh seeds"
                if has_again
                else ""
            ),
            header,
            rows,
        ),
        data=cells,
    )
