"""The page: an analysis, told in one self-contained HTML file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from reports import units
from reports.analysis import Analysis
from reports.figures import (
    draw_device_time,
    draw_epoch_savings,
    draw_score_vs_compute,
    inline_svg,
)
from reports.figures.style import NARROW, WIDE, Layout, figure_style, strategy_styles
from reports.notes import band_note, caveats, method_notes, verdict_sentences


@dataclass(frozen=True)
class PageFigure:
    """A figure in both layouts; the page shows the one that fits."""

    wide: Markup
    narrow: Markup


def render_page(analysis: Analysis) -> str:
    """The whole page; the same analysis gives the same page."""
    run = analysis.run
    study = run.study
    unit = units.ComputeUnit.for_budget(study.devices.kind, study.budget_device_seconds)
    order = list(analysis.standings["strategy"])
    return (
        _environment(unit)
        .get_template("page.html.j2")
        .render(
            css=Markup(files("reports").joinpath("page.css").read_text(encoding="utf-8")),
            study=study,
            benchmark=study.benchmark,
            unit=unit,
            analysis=analysis,
            styles=strategy_styles([strategy.name for strategy in study.strategies]),
            better="Higher" if study.benchmark.mode == "max" else "Lower",
            band=band_note(len(study.seeds)),
            verdict=verdict_sentences(analysis),
            caveats=caveats(analysis, unit),
            notes=method_notes(analysis),
            cells=[
                (
                    name,
                    seed,
                    analysis.summary.strategies[name][str(seed)],
                    run.cells.get((name, seed)),
                )
                for name in order
                for seed in study.seeds
            ],
            finals={(row["strategy"], row["seed"]): row for row in _records(analysis.finals)},
            standings=_records(analysis.standings),
            epochs={(row["strategy"], row["seed"]): row for row in _records(analysis.epochs)},
            rungs=_records(analysis.rungs),
            savings={row["strategy"]: row for row in _records(analysis.savings)},
            ideal={row["strategy"]: row for row in _records(analysis.ideal)},
            failures=_records(analysis.failures),
            in_flight=_records(analysis.in_flight),
            device_time=analysis.device_time_by_strategy.to_dict("index"),
            order=order,
            figures=_figures(analysis, unit, order),
        )
    )


@cache
def _environment(unit: units.ComputeUnit) -> Environment:
    environment = Environment(
        loader=PackageLoader("reports", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": units.score,
        "percent": units.percent,
        "quantity": units.quantity,
        "breakable": _breakable,
        "count": lambda number: f"{number:,}",
        "seconds": units.seconds,
        "setting": units.setting,
        "compute": unit.number,
        "json": lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str),
    }
    return environment


def _breakable(name: str) -> Markup:
    """A name that may be broken after its underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


def _records(frame: object) -> list[dict[str, object]]:
    records: list[dict[str, object]] = frame.to_dict("records")  # type: ignore[attr-defined]
    return records


def _figures(
    analysis: Analysis, unit: units.ComputeUnit, order: list[str]
) -> dict[str, PageFigure]:
    study = analysis.run.study
    styles = strategy_styles([strategy.name for strategy in study.strategies])
    figures = {}
    if analysis.focus is not None:
        focus = analysis.focus
        best_first = "; ".join(
            f"{row['strategy']} {units.score(row['validation'])}"  # type: ignore[arg-type]
            for row in _records(analysis.standings)
            if not math.isnan(row["validation"])  # type: ignore[arg-type]
        )
        figures["score"] = _both_layouts(
            lambda layout: draw_score_vs_compute(
                analysis.curves, focus, study.benchmark.mode, styles,
                study.budget_device_seconds, unit, study.benchmark.metric, layout,
            ),
            "score",
            "Best validation score vs compute",
            f"Step curves of the best {study.benchmark.metric} so far over {unit.name} held, one "
            f"per strategy. At the budget: {best_first}.",
        )  # fmt: skip
    if len(analysis.savings) and analysis.savings["epochs_run"].sum() > 0:
        saved = "; ".join(
            f"{row['strategy']} {units.percent(row['epoch_savings'])}"  # type: ignore[arg-type]
            for row in _records(analysis.savings)
        )
        figures["savings"] = _both_layouts(
            lambda layout: draw_epoch_savings(analysis.rungs, analysis.ideal, order, layout),
            "savings",
            "Epochs run by rung, as a share of run-to-completion",
            f"One bar per strategy. Saved: {saved}.",
        )
    if (analysis.device_time["held"] > 0).any():
        figures["device-time"] = _both_layouts(
            lambda layout: draw_device_time(analysis.device_time_by_strategy, order, layout),
            "device-time",
            "Device time by kind of work",
            "One bar per strategy, as shares of the device time held; the table below has the "
            "numbers.",
        )
    return figures


def _both_layouts(
    draw: Callable[[Layout], Figure], prefix: str, title: str, description: str
) -> PageFigure:
    def one(layout: Layout) -> Markup:
        with figure_style():
            # inline_svg escapes what it is given, and matplotlib the texts of the figure.
            return Markup(inline_svg(draw(layout), f"{prefix}-{layout.name}", title, description))

    return PageFigure(wide=one(WIDE), narrow=one(NARROW))
