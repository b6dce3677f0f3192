"""The verdict and the ranking, for a terminal."""

from __future__ import annotations

import math

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.contract.text import printable
from reports import units
from reports.analysis import Analysis
from reports.analysis.frames import records
from reports.page.notes import caveats, verdict_sentences


def print_study(console: Console, analysis: Analysis) -> None:
    """Print what the page's top says: headline, sentences, what weakens it, the ranking."""
    study = analysis.run.study
    unit = units.ComputeUnit.for_budget(study.devices.kind, study.budget_device_seconds)
    headline, *sentences = verdict_sentences(analysis, unit)
    weak = [_text(f"• {line}", style="yellow") for line in caveats(analysis, unit)]
    console.print(
        Group(
            _text(
                f"{study.benchmark.name} · {study.executor} · "
                f"{unit.text(study.budget_device_seconds)} per strategy and seed · "
                f"{units.counted(len(study.seeds), 'seed')}",
                style="dim",
            ),
            _text(headline, style="bold"),
            _text(" ".join(sentences)),
            *([Text("\nWhat weakens this", style="bold yellow"), *weak] if weak else []),
            Padding(_ranking(analysis, unit, is_wide=console.width >= WIDE_COLUMNS), (1, 0, 0, 0)),
        )
    )


WIDE_COLUMNS = 100
"""A narrower terminal gets fewer columns, so that names and numbers stay whole."""


def _ranking(analysis: Analysis, unit: units.ComputeUnit, is_wide: bool) -> Table:
    study, found = analysis.run.study, analysis.verdict
    by = "test" if analysis.by_test else "validation"
    metric = study.benchmark.test_metric if analysis.by_test else study.benchmark.metric
    ties = {found.best, *found.ties} if found.ties else set()
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title=_text(
            f"mean {metric} of the incumbent" + (", 95 % interval" if found.seeds > 2 else "")
        ),
        caption="= cannot be told from the best" if ties else None,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("strategy", overflow="fold", min_width=12)
    table.add_column("")
    names = ["score", "low", "high", f"{unit.name} held", "seeds"]
    if is_wide:
        names += ["mean rank", "trials", "epochs"]
    for name in names:
        table.add_column(name, justify="right", no_wrap=name in ("score", "low", "high"))
    for row in records(analysis.standings):
        cells = [
            *(units.score(row[column]) for column in (by, f"{by}_low", f"{by}_high")),
            unit.number(row["held_device_seconds"]),
            f"{row['seeds']} of {len(study.seeds)}",
        ]
        if is_wide:
            cells += [
                units.quantity(row["mean_rank"]),
                *(_mean_count(row[column]) for column in ("trials", "epochs_run")),
            ]
        table.add_row(_text(row["strategy"]), "=" if row["strategy"] in ties else "", *cells)
    return table


def _text(text: str, style: str = "") -> Text:
    """Neither markup (a strategy may be called "[red]") nor control characters."""
    return Text(printable(text), style=style)


def _mean_count(value: float) -> str:
    return units.NOTHING if math.isnan(value) else f"{value:,.0f}"
