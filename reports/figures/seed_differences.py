"""How each seed changed: a strip of dots per strategy, and their mean with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from reports.figures.labelled_rows import LINE, draw_interval, labelled_rows
from reports.figures.style import INK, Layout, StrategyStyle

STRIP, MOST = 0.3, 0.9
"""Inches that the dots of a row take, with few and with very many seeds."""
SEEDS_PER_INCH = 90
OUTLYING = 4.0
"""Seeds further out than so many times the 90 % of seeds closest to 0 are arrows at the edge."""


@dataclass(frozen=True)
class SeedRow:
    """``differences``: by seed, above 0 is better; ``margin`` may be NaN, ``low`` and ``high``
    too."""

    name: str
    note: str
    differences: Sequence[float]
    margin: float
    estimate: float
    low: float
    high: float
    style: StrategyStyle


def draw_seed_differences(rows: Sequence[SeedRow], xlabel: str, layout: Layout) -> Figure:
    """Draw rows from top to bottom. The dots of a row are its seeds in their order, downwards, so
    that many that are equal can be seen; mean and interval stand below them."""
    most = max(len(row.differences) for row in rows)
    strip = min(max(STRIP, most / SEEDS_PER_INCH), MOST)
    reach = seed_reach(rows)
    figure, plot, places = labelled_rows(
        [("", [(row.name, row.note) for row in rows])], xlabel, reach, layout, strip + LINE
    )
    for row, middle in zip(rows, places, strict=True):
        top = middle - (strip + LINE) / 2
        if math.isfinite(row.margin):
            plot.add_patch(
                Rectangle((-row.margin, top + 0.03), 2 * row.margin, strip + LINE - 0.06,
                          color=INK, alpha=0.08, lw=0, zorder=0)
            )  # fmt: skip
        values = np.asarray(row.differences, dtype=float)
        y = top + 0.07 + (strip - 0.07) * (np.arange(len(values)) + 0.5) / len(values)
        is_near = np.abs(values) <= reach
        plot.plot(
            values[is_near], y[is_near], "o", color=row.style.colour, ms=4.5, mew=0, alpha=0.65
        )
        for sign, arrow in ((-1, "<"), (1, ">")):
            outside = sign * values > reach
            if not outside.any():
                # No marker at all would stand at the figure's corner, and get room there.
                continue
            plot.plot(
                np.full(outside.sum(), sign * reach), y[outside], arrow, color=row.style.colour,
                ms=5, mew=0, clip_on=False,
            )  # fmt: skip
        at = top + strip + 0.09
        draw_interval(plot, at, row.estimate, row.low, row.high, INK, "D", reach=reach)
    return figure


def seed_reach(rows: Sequence[SeedRow]) -> float:
    """How far the axis goes: as far as the seeds and the intervals, but for single seeds far
    outside; never less than the margins."""
    values = np.abs(np.concatenate([np.asarray(row.differences, dtype=float) for row in rows]))
    usual = OUTLYING * float(np.quantile(values, 0.9))
    ends = [abs(v) for r in rows for v in (r.low, r.high, r.margin, r.estimate) if math.isfinite(v)]
    furthest = float(values.max())
    reach = max([min(furthest, usual) if usual else furthest, *ends])
    return reach * 1.06 or 1.0
