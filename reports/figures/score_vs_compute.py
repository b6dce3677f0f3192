"""Best score vs compute: one step curve per strategy, a band over its seeds."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.contract import Mode
from reports import units
from reports.analysis.curves import Focus
from reports.figures.style import INK, Layout, StrategyStyle, short


def draw_score_vs_compute(
    curves: pd.DataFrame,
    focus: Focus,
    mode: Mode,
    styles: Mapping[str, StrategyStyle],
    budget_device_seconds: float,
    unit: units.ComputeUnit,
    metric: str,
    layout: Layout,
) -> Figure:
    """Draw :func:`reports.analysis.curves.score_curves` on the axis that ``focus`` chose.

    The legend names the scores at the budget, best first.
    """
    finals = curves.groupby("strategy", sort=False)["validation"].last()
    finals = finals.sort_values(ascending=mode == "min", kind="stable")
    shown = [str(name) for name in finals.index]
    height = 4.6 if layout.is_wide else 3.0 + 0.22 * len(shown)
    figure = Figure(figsize=(layout.width, height), layout="constrained")
    axes = figure.subplots()
    data = curves.assign(x=curves["held_device_seconds"] / unit.device_seconds)
    sns.lineplot(
        data=data,
        x="x",
        y="validation",
        hue="strategy",
        style="strategy",
        palette={name: styles[name].colour for name in shown},
        dashes={name: styles[name].dashes for name in shown},
        drawstyle="steps-post",
        estimator=None,
        errorbar=None,
        linewidth=1.8,
        legend=False,
        ax=axes,
    )
    for name in shown:
        own = data[data["strategy"] == name]
        style = styles[name]
        axes.fill_between(
            own["x"], own["low"], own["high"], step="post", color=style.colour, alpha=0.12, lw=0
        )
        axes.plot(
            own["x"].iloc[-1:],
            own["validation"].iloc[-1:],
            marker=style.marker,
            color=style.colour,
            markersize=6,
            clip_on=False,
            zorder=3,
        )
        if name in focus.outside:
            axes.lines[-1].set_visible(False)
    budget = budget_device_seconds / unit.device_seconds
    axes.axvline(budget, color=INK, lw=1, alpha=0.5, dashes=(2, 2))
    axes.set(
        xlim=(0, max(budget, float(data["x"].max()))),
        ylim=(focus.low, focus.high),
        xlabel=f"{unit.name} held" + (" (dotted line: the budget)" if layout.is_wide else ""),
        ylabel=f"best {short(metric)} so far",
    )
    sns.despine(ax=axes)
    keys = [
        Line2D(
            [], [], color=styles[name].colour, dashes=styles[name].dashes or (None, None),
            marker=styles[name].marker, markersize=5, lw=1.8,
        )
        for name in shown
    ]  # fmt: skip
    texts = [
        f"{units.score(float(finals[name]))}  {short(name)}"
        + (" (off the axis)" if name in focus.outside else "")
        for name in shown
    ]
    figure.legend(
        keys,
        texts,
        loc="outside right upper" if layout.is_wide else "outside lower left",
        title="At the budget" if layout.is_wide else None,
        alignment="left",
        handlelength=3.2,
    )
    return figure
