"""One look for every figure: colours that hold on white and on black, and per-strategy styles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import seaborn as sns

from harness.contract.records import Kind

INK = "#010203"
"""Stands for the page's text colour; :mod:`reports.figures.svg` puts ``currentColor`` there."""
PAPER = "#fdfeff"
"""Stands for the page's background, likewise."""

# Okabe & Ito's colour-blind safe hues, with the light ones darkened: each has a contrast of at
# least 3:1 with a white and with a nearly black page (a test computes it).
BLUE, VERMILION, GREEN, PINK, OCHRE, SKY, VIOLET, GREY = (
    "#0072b2", "#d55e00", "#009e73", "#c96aa3", "#b87d00", "#2e9bd6", "#8a6fd1", "#7a7a7a",
)  # fmt: skip
COLOURS = (BLUE, VERMILION, GREEN, PINK, OCHRE, SKY, VIOLET, GREY)
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.5), (1.5, 1.2), (6, 1.5, 1.5, 1.5))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

KIND_COLOURS: dict[Kind, str] = {
    "train": BLUE,
    "evaluate": GREEN,
    "checkpoint": VIOLET,
    "restore": PINK,
    "setup": VERMILION,
    "lost": OCHRE,
    "idle": GREY,
}
RUNG_COLOURS = (BLUE, GREEN, OCHRE, VERMILION, PINK, VIOLET, SKY)
# From the worst to the best, in even steps of OKLab, ever lighter and yellower, which every kind of
# colour vision can follow. The usual colour maps begin or end where they cannot be seen on a white
# or a black page.
SCORE_COLOURS = (
    "#2663c3", "#5064bc", "#6c65b3", "#8466a9", "#98689c", "#a96b8d", "#b7707b", "#c17665",
    "#c87c4b", "#cb8425",
)  # fmt: skip

MAX_NAME = 30


@dataclass(frozen=True)
class Layout:
    """A figure is drawn twice: for wide screens and paper, and for a phone. Width in inches."""

    name: str
    width: float

    @property
    def is_wide(self) -> bool:
        return self.width > 5


WIDE, NARROW = Layout("wide", 9.6), Layout("narrow", 3.6)


@dataclass(frozen=True)
class StrategyStyle:
    colour: str
    dashes: tuple[float, ...]
    marker: str


def strategy_styles(strategies: Sequence[str]) -> dict[str, StrategyStyle]:
    """The style of each strategy in every figure and table, by its place in the study.

    Colour, dashes and marker repeat after 8, 4 and 7, so the three together only after 56.
    """
    return {
        name: StrategyStyle(
            COLOURS[i % len(COLOURS)], _DASHES[i % len(_DASHES)], _MARKERS[i % len(_MARKERS)]
        )
        for i, name in enumerate(strategies)
    }


def short(name: str, most: int = MAX_NAME) -> str:
    """A name that fits beside a figure, or into ``most`` characters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def short_in_the_middle(name: str, most: int = MAX_NAME) -> str:
    """The same where many names stand below each other, which often begin alike and end apart."""
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}…{name[-end:]}"


@contextmanager
def figure_style() -> Iterator[None]:
    """Set matplotlib's parameters for one figure, and set them back."""
    ink = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    )
    # matplotlib types its keys one by one, seaborn does not.
    parameters: dict[Any, Any] = {
        **sns.axes_style("ticks"),
        **sns.plotting_context("notebook", font_scale=0.9),
        **ink,
        "grid.color": INK,
        "grid.alpha": 0.13,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "legend.frameon": False,
        # A strategy may be called "$x$".
        "text.parse_math": False,
        # One only: the browser draws the text, and looking for the others is slow.
        "font.family": ["DejaVu Sans"],
        "svg.fonttype": "none",
        "svg.hashsalt": "tune-bench-harness",
    }
    with mpl.rc_context(parameters):
        yield
