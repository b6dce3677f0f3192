"""The verdict and the ranking, for a terminal."""

from __future__ import annotations

import math

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports import units
from reports.analysis import Analysis
from reports.analysis.frames import records
from reports.page.notes import caveats, verdict_sentences


def print_study(console: Console, analysis: Analysis) -> None:
    """Print what the page's top says: headline, sentences, what weakens it, the ranking."""
    study = analysis.run.study
    unit = units.ComputeUnit.for_budget(study.devices.kind, study.budget_device_seconds)
    headline, *sentences = verdict_sentences(analysis, unit)
    weak = [Text(f"• {line}", style="yellow") for line in caveats(analysis, unit)]
    console.print(
        Group(
            Text(
                f"{study.benchmark.name} · {study.executor} · "
                f"{unit.text(study.budget_device_seconds)} per strategy and seed · "
                f"{units.counted(len(study.seeds), 'seed')}",
                style="dim",
            ),
            Text(headline, style="bold"),
            Text(" ".join(sentences)),
            *([Text("\nWhat weakens this", style="bold yellow"), *weak] if weak else []),
            Padding(_ranking(analysis, unit), (1, 0, 0, 0)),
        )
    )


def _ranking(analysis: Analysis, unit: units.ComputeUnit) -> Table:
    study, found = analysis.run.study, analysis.verdict
    by = "test" if analysis.by_test else "validation"
    metric = study.benchmark.test_metric if analysis.by_test else study.benchmark.metric
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("strategy", overflow="fold")
    table.add_column("")
    for name in (
        metric or "", "low", "high", "mean rank", f"{unit.name} held", "trials", "epochs", "seeds",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    ties = {found.best, *found.ties} if found.ties else set()
    for row in records(analysis.standings):
        table.add_row(
            # Text, not markup: a strategy may be called "[red]".
            Text(row["strategy"]),
            "=" if row["strategy"] in ties else "",
            *(units.score(row[column]) for column in (by, f"{by}_low", f"{by}_high")),
            units.quantity(row["mean_rank"]),
            unit.number(row["held_device_seconds"]),
            *(_mean_count(row[column]) for column in ("trials", "epochs_run")),
            f"{row['seeds']} of {len(study.seeds)}",
        )
    table.caption = "= cannot be told from the best" if ties else None
    return table


def _mean_count(value: float) -> str:
    return units.NOTHING if math.isnan(value) else f"{value:,.0f}"
