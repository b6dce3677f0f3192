"""An axis with a row per thing that is shown, each with its name and a note: beside the row where
there is room, in a line of their own above it where there is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reports.figures.style import INK, MAX_NAME, Layout, short_in_the_middle

TITLE, LINE, GAP = 0.34, 0.27, 0.12
"""Inches: a group's title, a line of text, what stands between two groups."""
BELOW = 0.6
"""Inches for the axis."""
NARROW_NAME = 20
"""Characters: beside a name the note must fit into a phone's width."""


def labelled_rows(
    groups: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    xlabel: str,
    reach: float,
    layout: Layout,
    row_height: float = LINE,
) -> tuple[Figure, Axes, list[float]]:
    """An empty axis from −``reach`` to ``reach`` with a line at 0, for groups (a title, perhaps
    empty, and the rows' names and notes) from top to bottom; and where on it each row is.

    The axis counts inches downwards, so that text keeps its distance however many rows there are.
    """
    plan, height = _places(groups, layout, row_height)
    figure = Figure(figsize=(layout.width, height + BELOW), layout="constrained")
    plot = figure.subplots()
    transform = plot.get_yaxis_transform()
    # Away from the axis, at whose ends there may be arrows.
    left: dict[str, Any] = {"x": -0.03, "ha": "right"}
    right: dict[str, Any] = {"x": 1.03, "ha": "left"}
    if not layout.is_wide:
        left, right = {"x": 0, "ha": "left"}, {"x": 1, "ha": "right"}
    rows: list[float] = []
    for title, title_y, places in plan:
        if title:
            plot.text(y=title_y, s=title, weight="bold", va="center", transform=transform, **left)
        for name, note, text_y, row_y in places:
            shown = short_in_the_middle(name, MAX_NAME if layout.is_wide else NARROW_NAME)
            plot.text(y=text_y, s=shown, va="center", transform=transform, **left)
            plot.text(y=text_y, s=note, va="center", transform=transform, **right)
            rows.append(row_y)
    plot.axvline(0, color=INK, lw=1, alpha=0.6)
    plot.set(ylim=(height, 0), xlim=(-reach, reach), yticks=[], xlabel=xlabel)
    plot.xaxis.set_major_locator(MaxNLocator(8 if layout.is_wide else 4, steps=[1, 2, 2.5, 5, 10]))
    sns.despine(ax=plot, left=True)
    plot.grid(visible=True, axis="x")
    return figure, plot, rows


_Places = list[tuple[str, float, list[tuple[str, str, float, float]]]]


def _places(
    groups: Sequence[tuple[str, Sequence[tuple[str, str]]]], layout: Layout, row_height: float
) -> tuple[_Places, float]:
    """Where titles, texts and rows are; and how high all are together."""
    plan: _Places = []
    y = 0.0
    for title, rows in groups:
        y += GAP if plan else 0.0
        title_y = y + TITLE / 2
        y += TITLE if title else 0.0
        places = []
        for name, note in rows:
            own_line = 0.0 if layout.is_wide else LINE
            row_y = y + own_line + row_height / 2
            places.append((name, note, row_y if layout.is_wide else y + LINE / 2, row_y))
            y += own_line + row_height
        plan.append((title, title_y, places))
    return plan, y + GAP


def draw_interval(
    plot: Axes,
    y: float,
    estimate: float,
    low: float,
    high: float,
    colour: str,
    marker: str = "o",
    is_filled: bool = True,
    reach: float | None = None,
) -> None:
    """A point with its interval; ``low`` and ``high`` may be NaN: then there is only the point.

    What is further out than ``reach`` is drawn as an arrow there.
    """
    ends = [low, high]
    if reach is not None:
        ends = [min(max(end, -reach), reach) for end in ends]
        for end, arrow in ((low, "<"), (high, ">")):
            # The end of an interval that lies outside altogether has the point's own arrow.
            if abs(end) > reach and abs(estimate) <= reach:
                plot.plot(
                    [min(max(end, -reach), reach)], [y], arrow, color=colour, ms=6, clip_on=False
                )
        if abs(estimate) > reach:
            marker = ">" if estimate > 0 else "<"
            estimate = reach if estimate > 0 else -reach
    plot.plot(ends, [y, y], color=colour, lw=2, solid_capstyle="butt")
    plot.plot(
        [estimate], [y], marker, color=colour, ms=7, mew=1.6, clip_on=False, zorder=3,
        mfc=colour if is_filled else "none",
    )  # fmt: skip
