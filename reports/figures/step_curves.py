"""Step curves over compute or time: one per strategy, a band over its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from reports import units
from reports.figures.style import INK, Layout, StrategyStyle, short


@dataclass(frozen=True)
class CurveAxes:
    """What is drawn: columns ``x`` (divided by ``x_unit``) and ``y`` of the curves' frame.

    ``budget`` (in the unit of ``x``) is marked by a dotted line; ``y_limits`` are the axis's.
    """

    x: str
    x_unit: float
    x_label: str
    y: str
    y_label: str
    y_limits: tuple[float, float]
    is_log: bool = False
    budget: float | None = None


def draw_step_curves(
    curves: pd.DataFrame,
    axes: CurveAxes,
    styles: Mapping[str, StrategyStyle],
    legend: Sequence[tuple[str, str]],
    layout: Layout,
    seed_lines: pd.DataFrame | None = None,
) -> Figure:
    """Draw :func:`reports.analysis.curves.score_curves` or ``regret_curves``.

    Args:
        legend: (strategy, text), in the order in which the legend has them.
        seed_lines: each seed's own steps (``strategy``, ``seed``, ``x`` and ``y`` columns), drawn
            thin.
    """
    shown = [name for name, _ in legend]
    height = 4.6 if layout.is_wide else 3.0 + 0.22 * len(shown)
    figure = Figure(figsize=(layout.width, height), layout="constrained")
    plot = figure.subplots()
    data = curves.assign(**{axes.x: curves[axes.x] / axes.x_unit})
    end = float(data[axes.x].max())
    if axes.budget is not None:
        end = max(end, axes.budget / axes.x_unit)
    data = thinned(data, axes.x, end)
    if seed_lines is not None:
        _draw_seeds(plot, seed_lines, axes, styles, end)
    low, high = axes.y_limits
    for name in shown:
        own = data[data["strategy"] == name]
        style = styles[name]
        plot.plot(
            own[axes.x], own[axes.y], drawstyle="steps-post", color=style.colour, lw=1.8,
            dashes=style.dashes or (None, None),
        )  # fmt: skip
        plot.fill_between(
            own[axes.x], own["low"], own["high"], step="post", color=style.colour, alpha=0.12, lw=0
        )
        last = float(own[axes.y].iloc[-1])
        if low <= last <= high:
            plot.plot(
                own[axes.x].iloc[-1:], [last], marker=style.marker, color=style.colour,
                markersize=6, clip_on=False, zorder=3,
            )  # fmt: skip
    if axes.budget is not None:
        plot.axvline(axes.budget / axes.x_unit, color=INK, lw=1, alpha=0.5, dashes=(2, 2))
    plot.set(xlim=(0, end), ylim=axes.y_limits, xlabel=axes.x_label, ylabel=axes.y_label)
    if axes.is_log:
        plot.set_yscale("log")
        # Not "$10^{-2}$": no text of a figure is taken as mathematics.
        plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.quantity(value)))
        plot.yaxis.set_minor_formatter(NullFormatter())
    sns.despine(ax=plot)
    strategy_legend(figure, styles, legend, layout, "At the budget")
    return figure


STEPS_ACROSS = 300
"""Where a curve may step, over the width of a figure: a step is a pixel or two off at most."""


def thinned(curves: pd.DataFrame, x: str, end: float) -> pd.DataFrame:
    """Curves with at most ``STEPS_ACROSS`` steps each: of those that fall together the last."""
    if end <= 0:
        return curves
    place = (curves[x] / end * STEPS_ACROSS).round()
    keep = ~pd.DataFrame({"strategy": curves["strategy"], "place": place}).duplicated(keep="last")
    # The first point is where a curve begins.
    keep |= ~curves["strategy"].duplicated()
    return curves[keep]


def strategy_legend(
    figure: Figure,
    styles: Mapping[str, StrategyStyle],
    legend: Sequence[tuple[str, str]],
    layout: Layout,
    title: str | None,
) -> None:
    """Beside a wide figure, below a narrow one."""
    keys = [
        Line2D(
            [], [], color=styles[name].colour, dashes=styles[name].dashes or (None, None),
            marker=styles[name].marker, markersize=5, lw=1.8,
        )
        for name, _ in legend
    ]  # fmt: skip
    figure.legend(
        keys,
        [short(text) for _, text in legend],
        loc="outside right upper" if layout.is_wide else "outside lower left",
        title=title if layout.is_wide else None,
        alignment="left",
        handlelength=3.2,
    )


def _draw_seeds(
    plot: Axes,
    seed_lines: pd.DataFrame,
    axes: CurveAxes,
    styles: Mapping[str, StrategyStyle],
    end: float,
) -> None:
    for (name, _), own in seed_lines.groupby(["strategy", "seed"], sort=False):
        x = [*(own[axes.x] / axes.x_unit), end]
        y = [*own[axes.y], own[axes.y].iloc[-1]]
        style = styles[str(name)]
        plot.plot(x, y, drawstyle="steps-post", color=style.colour, lw=0.7, alpha=0.55)
