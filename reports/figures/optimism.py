"""Validation against test score: a mark per cell, and the line where both are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from reports.figures.step_curves import strategy_legend
from reports.figures.style import INK, Layout, StrategyStyle, short

FAR = 3.0
"""Cells further out than so many interquartile ranges are left to the table."""


def near_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Of :func:`reports.analysis.optimism.optimism`, what can be drawn to scale: cells with both
    scores that are not far from the others."""
    known = cells.dropna(subset=["validation", "test"])
    return known[_is_near(known["validation"]) & _is_near(known["test"])]


def draw_optimism(
    near: pd.DataFrame,
    order: Sequence[str],
    styles: Mapping[str, StrategyStyle],
    metrics: tuple[str, str],
    layout: Layout,
) -> Figure:
    """Draw :func:`near_cells`, at least one of them.

    Args:
        metrics: the validation and the test metric's name.
    """
    shown = [name for name in order if name in set(near["strategy"])]
    size = (layout.width * 0.75, 4.2) if layout.is_wide else (layout.width, 3.4 + 0.22 * len(shown))
    figure = Figure(figsize=size, layout="constrained")
    plot = figure.subplots()
    for name in shown:
        own = near[near["strategy"] == name]
        style = styles[name]
        plot.plot(
            own["validation"], own["test"], style.marker, color=style.colour, ms=5.5, alpha=0.75,
            mew=0,
        )  # fmt: skip
    both = near[["validation", "test"]].to_numpy(dtype=float)
    low, high = float(both.min()), float(both.max())
    margin = 0.05 * (high - low) or max(abs(high) * 0.01, 1e-6)
    limits = (low - margin, high + margin)
    plot.plot(limits, limits, color=INK, lw=1, alpha=0.6, dashes=(2, 2))
    plot.set(
        xlim=limits, ylim=limits, aspect="equal", xlabel=short(metrics[0]), ylabel=short(metrics[1])
    )
    sns.despine(ax=plot)
    strategy_legend(figure, styles, [(name, name) for name in shown], layout, None)
    return figure


def _is_near(values: pd.Series) -> pd.Series:
    first, third = np.quantile(values, [0.25, 0.75]) if len(values) else (0.0, 0.0)
    reach = FAR * max(third - first, 1e-12 * max(abs(first), abs(third), 1e-12))
    return values.between(first - reach, third + reach)
