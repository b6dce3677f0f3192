"""Differences in units of the margin that each may have: one axis for measures of every unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from reports.figures.labelled_rows import draw_interval, labelled_rows
from reports.figures.style import INK, Layout, StrategyStyle

FAR = 5.0
"""Margins: what is further out is as clear, and would press everything else together."""
NEAR = 1.6
"""Margins that are always shown, so that the margins themselves are in sight."""


@dataclass(frozen=True)
class MarginRow:
    """All in margins; ``low`` and ``high`` may be NaN. ``mark``: what was decided, in words."""

    name: str
    mark: str
    estimate: float
    low: float
    high: float
    style: StrategyStyle
    is_filled: bool


def is_far(row: MarginRow) -> bool:
    return abs(row.estimate) > FAR


def draw_margins(groups: Sequence[tuple[str, Sequence[MarginRow]]], layout: Layout) -> Figure:
    """Draw groups of rows from top to bottom, the margins as a band around 0."""
    ends = [
        abs(value)
        for _, rows in groups
        for row in rows
        for value in (row.low, row.estimate, row.high)
        if math.isfinite(value)
    ]
    reach = min(max([NEAR, *ends]) * 1.06, FAR)
    texts = [(title, [(row.name, row.mark) for row in rows]) for title, rows in groups]
    figure, plot, places = labelled_rows(texts, "difference ÷ margin (better →)", reach, layout)
    plot.axvspan(-1, 1, color=INK, alpha=0.08, lw=0, zorder=0)
    for end in (-1, 1):
        plot.axvline(end, color=INK, lw=1, alpha=0.4, dashes=(2, 2))
    plot.xaxis.set_major_locator(MultipleLocator(1))
    for row, y in zip([row for _, rows in groups for row in rows], places, strict=True):
        draw_interval(
            plot, y, row.estimate, row.low, row.high, row.style.colour, row.style.marker,
            row.is_filled, reach,
        )  # fmt: skip
    return figure
