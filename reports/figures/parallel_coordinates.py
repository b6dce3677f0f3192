"""Configurations in parallel coordinates: a line per trial, coloured by its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import east_asian_width

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from reports import units
from reports.analysis.configurations import ParallelPlot
from reports.analysis.frames import CONFIG_PREFIX
from reports.analysis.scales import Places, Scale, Tick
from reports.figures.style import (
    GREY,
    INK,
    MAX_NAME,
    PAPER,
    SCORE_COLOURS,
    Layout,
    StrategyStyle,
    short,
)

ABSENT = -0.12
"""The place, before an axis, of what has no value on it."""
_MOST_SPREAD = 0.12
_CHARACTER = 0.085
"""The width of one, in inches, or a little more."""
_MOST_UPRIGHT = 10
_LABEL = {"boxstyle": "square,pad=0.1", "facecolor": PAPER, "alpha": 0.85, "linewidth": 0}


@dataclass(frozen=True)
class _Frame:
    """Where things are drawn: axes stand side by side, or lie below each other. In inches."""

    axes: Axes
    is_upright: bool
    width: float

    def points(self, at: Places, place: Places) -> Places:
        """(axis number, place on it) as x and y."""
        return np.stack([at, place] if self.is_upright else [place, at], axis=-1)


def draw_configurations(
    plot: ParallelPlot, styles: Mapping[str, StrategyStyle], layout: Layout
) -> Figure:
    """Draw :func:`reports.analysis.configurations.parallel_plot`.

    Axes stand side by side where they are few and their names short, and lie below each other
    elsewhere. The best incumbent of each strategy is marked on every axis.
    """
    count = len(plot.scales)
    is_upright = layout.is_wide and _fit_side_by_side(plot.scales, layout)
    marked = plot.lines[plot.lines["is_incumbent"]].drop_duplicates("strategy")
    keys = [
        Line2D(
            [], [], color=INK, marker=styles[name].marker, mfc=styles[name].colour, mec=PAPER, ms=8,
            lw=1, label=f"{units.score(score)}  {short(name)}",
        )
        for name, score in zip(marked["strategy"], marked["score"], strict=True)
    ]  # fmt: skip
    if plot.lost:
        keys.append(Line2D([], [], color=GREY, lw=1, dashes=(3, 2), label="no score"))
    columns = 3 if layout.is_wide else 1
    height = (4.0 if is_upright else 0.2 + 0.68 * count) + 0.25 * (1 + -(-len(keys) // columns))
    figure = Figure(figsize=(layout.width, height), layout="constrained")
    axes = figure.subplots()
    frame = _Frame(axes, is_upright, layout.width - 0.6)
    places = _spread(plot)
    _draw_lines(frame, plot.places[:, -1], places)
    for at, scale in enumerate(plot.scales):
        has_absent = bool(np.isnan(plot.places[:, at]).any())
        _draw_axis(frame, at, scale, has_absent, is_score=at == count - 1)
    for row, name in zip(marked.index.to_numpy(), marked["strategy"], strict=True):
        _mark(frame, places[row], styles[name])
    _set_limits(frame, plot)
    figure.legend(
        handles=keys, loc="outside lower left", ncols=columns, alignment="left",
        title="The best incumbent of each strategy" if len(marked) else None,
    )  # fmt: skip
    return figure


def describe_configurations(plot: ParallelPlot) -> str:
    """The plot in a sentence."""
    total = len(plot.lines) + plot.left_out
    parameters = len(plot.scales) - 1
    shown = units.counted(total, "trial")
    if plot.left_out:
        shown = f"{len(plot.lines):,} of {shown}"
    text = f"Parallel coordinates of {shown} over {units.counted(parameters, 'parameter')}"
    if plot.lost < len(plot.lines):
        best = plot.lines.iloc[0]
        setting = ", ".join(
            f"{scale.name} {units.setting(best[column])}"
            for scale in plot.scales[:-1]
            if (column := f"{CONFIG_PREFIX}{scale.name}") in best
        )
        text += (
            f"; the best, of {best['strategy']} with seed {best['seed']}, reached "
            f"{units.score(float(best['score']))} at {setting}"
        )
    if plot.lost:
        text += f"; {plot.lost:,} of the lines have no score"
    return f"{text}."


def _fit_side_by_side(scales: Sequence[Scale], layout: Layout) -> bool:
    widths = [_CHARACTER * min(len(scale.name), MAX_NAME) for scale in scales]
    between = (layout.width - 1) / max(len(scales) - 1, 1)
    return len(scales) <= _MOST_UPRIGHT and all(
        (one + other) / 2 < between for one, other in pairwise(widths)
    )


def _spread(plot: ParallelPlot) -> Places:
    """Lines that share a place are laid next to each other, the better ones higher."""
    spread = np.empty_like(plot.places)
    for at, scale in enumerate(plot.scales):
        places = pd.Series(plot.places[:, at]).fillna(ABSENT)
        shared = places.groupby(places)
        beside = 0.5 - (shared.cumcount() + 0.5) / shared.transform("size")
        width = np.where(places == ABSENT, _MOST_SPREAD, min(0.6 * scale.step, _MOST_SPREAD))
        spread[:, at] = places + beside * width
    return spread


def _draw_lines(frame: _Frame, scores: Places, places: Places) -> None:
    """One path per colour, the best last."""
    level = np.minimum(scores * len(SCORE_COLOURS), len(SCORE_COLOURS) - 1)
    _draw_path(frame, places[np.isnan(scores)], GREY, 0.6, 0.6, dashes=(3, 2))
    for i, colour in enumerate(SCORE_COLOURS):
        goodness = i / (len(SCORE_COLOURS) - 1)
        own = places[(level >= i) & (level < i + 1)]
        _draw_path(frame, own, colour, 0.6 + 0.5 * goodness, 0.45 + 0.4 * goodness)


def _draw_path(
    frame: _Frame,
    places: Places,
    colour: str,
    width: float,
    alpha: float,
    dashes: tuple[float, ...] = (),
) -> None:
    lines, axes = places.shape
    if not lines:
        return
    at = np.tile(np.arange(axes, dtype=float), lines)
    codes = ([Path.MOVETO] + [Path.LINETO] * (axes - 1)) * lines
    patch = PathPatch(
        Path(frame.points(at, places.ravel()), codes), facecolor="none", edgecolor=colour,
        linewidth=width, alpha=alpha, linestyle=(0, dashes) if dashes else "-", clip_on=False,
    )  # fmt: skip
    frame.axes.add_artist(patch)


def _draw_axis(frame: _Frame, at: int, scale: Scale, has_absent: bool, is_score: bool) -> None:
    def line(start: float, end: float, **style: object) -> None:
        x, y = frame.points(np.array([at, at], dtype=float), np.array([start, end])).T
        frame.axes.plot(x, y, solid_capstyle="butt", clip_on=False, **style)  # type: ignore[arg-type]

    if is_score:
        edges = np.linspace(0, 1, len(SCORE_COLOURS) + 1)
        for start, end, colour in zip(edges, edges[1:], SCORE_COLOURS, strict=False):
            line(start, end, color=colour, lw=6, zorder=2.5)
    else:
        line(0, 1, color=INK, lw=1, zorder=2.5)
    ticks = [(place, short(label, 12)) for place, label in scale.ticks]
    if has_absent:
        ticks.insert(0, (ABSENT, "none"))
    for place, label in ticks if frame.is_upright else _beside_each_other(ticks, frame.width):
        (point,) = frame.points(np.array([at], dtype=float), np.array([place]))
        upright = frame.is_upright
        frame.axes.annotate(
            label, point, xytext=(-5, 0) if upright else (0, -4), textcoords="offset points",
            ha="right" if upright else _side(place), va="center" if upright else "top",
            size=8, zorder=4, bbox=_LABEL, annotation_clip=False,
        )  # fmt: skip
    (point,) = frame.points(np.array([at], dtype=float), np.array([1.0 if frame.is_upright else 0]))
    frame.axes.annotate(
        short(scale.name), point, xytext=(0, 13 if frame.is_upright else 5),
        textcoords="offset points", ha="center" if frame.is_upright else "left", va="bottom",
        size=9, weight="bold", zorder=4, bbox=_LABEL, annotation_clip=False,
    )  # fmt: skip


def _side(place: float) -> str:
    return "left" if place == 0 else "right" if place == 1 else "center"


def _beside_each_other(ticks: list[Tick], width: float) -> list[Tick]:
    """Those whose labels do not overlap; the outermost come first."""
    kept: list[tuple[float, float, Tick]] = []
    for place, label in [*ticks[:1], *ticks[-1:], *ticks[1:-1]]:
        # Chinese characters, for one, are as wide as two others.
        letters = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in label)
        length = 0.065 * (letters + 1) / width
        start = place - {"left": 0.0, "right": 1.0, "center": 0.5}[_side(place)] * length
        if all(start + length <= other or start >= end for other, end, _ in kept):
            kept.append((start, start + length, (place, label)))
    return [tick for _, _, tick in kept]


def _mark(frame: _Frame, places: Places, style: StrategyStyle) -> None:
    x, y = frame.points(np.arange(len(places), dtype=float), places).T
    frame.axes.plot(x, y, color=INK, lw=1, zorder=3, clip_on=False)
    # On the score's axis all of them would lie on top of each other.
    frame.axes.plot(
        x[:-1], y[:-1], ls="", marker=style.marker, color=style.colour, mec=PAPER, ms=8, zorder=3.5,
        clip_on=False,
    )  # fmt: skip


def _set_limits(frame: _Frame, plot: ParallelPlot) -> None:
    low = ABSENT - _MOST_SPREAD / 2 if np.isnan(plot.places).any() else -_MOST_SPREAD / 2
    along, last = (low, 1 + _MOST_SPREAD / 2), len(plot.scales) - 1
    frame.axes.set_axis_off()
    if frame.is_upright:
        frame.axes.set(ylim=along, xlim=(-0.35, last + 0.1))
    else:
        frame.axes.set(xlim=along, ylim=(last + 0.35, -0.35))
