"""What stands around a figure on the page: title, how to read it, both layouts, its data."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from reports.figures.style import NARROW, WIDE, Layout, figure_style
from reports.figures.svg import inline_svg


@dataclass(frozen=True)
class Table:
    """A frame made readable: header cells, then rows of text, which begin with a name.

    ``caption`` says what is in it.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class PageFigure:
    """``key`` is unique on the page; ``wide`` and ``narrow`` are the same figure for both layouts,
    the page shows the one that fits. ``csv`` is a link to all its data."""

    key: str
    title: str
    reading: str
    caption: str
    wide: Markup
    narrow: Markup
    table: Table
    csv: str

    @property
    def csv_name(self) -> str:
        return f"{self.key}.csv"


def make_figure(
    draw: Callable[[Layout], Figure],
    *,
    key: str,
    title: str,
    reading: str,
    alt: str,
    caption: str,
    table: Table,
    data: pd.DataFrame,
) -> PageFigure:
    """Draw a figure in both layouts.

    Args:
        reading: one line on how to read it.
        alt: what a screen reader says in its place.
        table: the numbers to read; ``data``: all of them, for the CSV.
    """

    def one(layout: Layout) -> Markup:
        with figure_style():
            # inline_svg escapes what it is given, and matplotlib the texts of the figure.
            return Markup(inline_svg(draw(layout), f"{key}-{layout.name}", title, alt))

    return PageFigure(key, title, reading, caption, one(WIDE), one(NARROW), table, csv_link(data))


SIGNIFICANT_DIGITS = 6
"""Of numbers in CSVs: what is left out is below any measurement."""


def csv_link(frame: pd.DataFrame) -> str:
    """The frame as a link that saves it: nothing is asked of any host."""
    content = frame.to_csv(index=False, float_format=f"%.{SIGNIFICANT_DIGITS}g")
    return f"data:text/csv;charset=utf-8;base64,{base64.b64encode(content.encode()).decode()}"
