"""Differences with their intervals, one line each, against a line at zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import seaborn as sns
from matplotlib.figure import Figure

from reports.figures.labelled_rows import draw_interval
from reports.figures.style import INK, Layout


@dataclass(frozen=True)
class ForestRow:
    """``low`` and ``high`` may be NaN: then there is only the point."""

    label: str
    note: str
    estimate: float
    low: float
    high: float
    colour: str
    is_filled: bool


def draw_forest(
    groups: Sequence[tuple[str, Sequence[ForestRow]]], xlabel: str, layout: Layout
) -> Figure:
    """Draw groups of rows from top to bottom, each under its title; the text stands above its line,
    so that it is readable at every width."""
    lines = sum(len(rows) + 1 for _, rows in groups)
    figure = Figure(figsize=(layout.width, 0.7 + 0.44 * lines), layout="constrained")
    plot = figure.subplots()
    y, ends = 0.0, [0.0]
    for title, rows in groups:
        plot.text(
            0, y, title, transform=plot.get_yaxis_transform(), weight="bold", ha="left", va="center"
        )
        y += 0.5
        for row in rows:
            transform = plot.get_yaxis_transform()
            plot.text(0, y, row.label, transform=transform, ha="left", va="center")
            if layout.is_wide:
                plot.text(1, y, row.note, transform=transform, ha="right", va="center")
            at = y + 0.4
            draw_interval(
                plot, at, row.estimate, row.low, row.high, row.colour, is_filled=row.is_filled
            )
            ends += [v for v in (row.low, row.estimate, row.high) if v == v]
            y += 1.0
        y += 0.3
    plot.axvline(0, color=INK, lw=1, alpha=0.6)
    reach = max(map(abs, ends)) * 1.1 or 1.0
    plot.set(ylim=(y - 0.3, -0.4), xlim=(-reach, reach), yticks=[], xlabel=xlabel)
    sns.despine(ax=plot, left=True)
    plot.grid(visible=True, axis="x")
    return figure
