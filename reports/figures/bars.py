"""Horizontal stacked bars of shares, a line of text above each: readable at every width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from reports.figures.style import INK, PAPER, Layout


@dataclass(frozen=True)
class Piece:
    """One piece of a bar: its share (0 … 1) and the legend's word for it."""

    label: str
    share: float
    colour: str
    alpha: float = 1.0


@dataclass(frozen=True)
class Bar:
    """A bar: ``name`` above it on the left, ``note`` on the right, perhaps a mark at a share."""

    name: str
    note: str
    pieces: Sequence[Piece]
    mark: float | None = None


def draw_bars(bars: Sequence[Bar], xlabel: str, mark_label: str, layout: Layout) -> Figure:
    """Draw bars from top to bottom, over an axis from 0 to 100 %."""
    row = 0.52
    legend = list({p.label: p for bar in bars for p in bar.pieces}.values())
    has_marks = any(bar.mark is not None for bar in bars)
    columns = 8 if layout.is_wide else 2
    legend_rows = -(-(len(legend) + has_marks) // columns)
    height = 0.75 + row * len(bars) + 0.27 * legend_rows
    figure = Figure(figsize=(layout.width, height), layout="constrained")
    axes = figure.subplots()
    for y, bar in enumerate(bars):
        _draw_bar(axes, y, bar)
    axes.set(
        xlim=(0, 1), ylim=(len(bars) - 0.6, -0.75), yticks=[], xlabel=xlabel,
        xticks=[0, 0.25, 0.5, 0.75, 1], xticklabels=["0", "25", "50", "75", "100 %"],
    )  # fmt: skip
    # The outermost labels would hang over the figure's edge.
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.grid(visible=False)
    sns.despine(ax=axes, left=True)
    keys: list[object] = [
        Patch(facecolor=p.colour, edgecolor="none", alpha=p.alpha, label=p.label) for p in legend
    ]
    if has_marks:
        keys.append(axes.plot([], [], "D", color=INK, mec=PAPER, ms=7, label=mark_label)[0])
    figure.legend(
        handles=keys, loc="outside lower left", ncols=columns, handlelength=1.2, columnspacing=1.2
    )
    return figure


def _draw_bar(axes: Axes, y: int, bar: Bar) -> None:
    start = 0.0
    for piece in bar.pieces:
        axes.barh(
            y, piece.share, left=start, height=0.42, color=piece.colour, alpha=piece.alpha,
            edgecolor=PAPER, linewidth=0.8,
        )  # fmt: skip
        start += piece.share
    if bar.mark is not None:
        axes.plot([bar.mark], [y], "D", color=INK, mec=PAPER, ms=7, zorder=3, clip_on=False)
    above = y - 0.27
    axes.text(0, above, bar.name, ha="left", va="bottom")
    axes.text(1, above, bar.note, ha="right", va="bottom")
