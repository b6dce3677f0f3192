"""The fraction of seeds that have reached a target, by compute: one panel per target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from reports import units
from reports.figures.step_curves import strategy_legend
from reports.figures.style import INK, Layout, StrategyStyle

MAX_PANELS = 4


def draw_time_to_target(
    reached: pd.DataFrame,
    targets: Sequence[float],
    order: Sequence[str],
    styles: Mapping[str, StrategyStyle],
    budget_device_seconds: float,
    unit: units.ComputeUnit,
    metric: str,
    layout: Layout,
) -> Figure:
    """Draw :func:`reports.analysis.targets.reached_curves`, the hardest four targets at most."""
    shown = list(targets)[-MAX_PANELS:]
    rows, columns = (1, len(shown)) if layout.is_wide else (len(shown), 1)
    legend_height = 0.3 if layout.is_wide else 0.24 * len(order)
    size = (layout.width, 2.9 if layout.is_wide else 1.9 * rows + legend_height + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat
    for target, plot in zip(shown, panels, strict=True):
        for name in order:
            own = reached[(reached["strategy"] == name) & (reached["target"] == target)]
            style = styles[name]
            plot.plot(
                own["held_device_seconds"] / unit.device_seconds, own["fraction"],
                drawstyle="steps-post", color=style.colour, lw=1.8,
                dashes=style.dashes or (None, None), marker=style.marker, markevery=[-1],
                markersize=5, clip_on=False,
            )  # fmt: skip
        plot.axvline(
            budget_device_seconds / unit.device_seconds, color=INK, lw=1, alpha=0.5, dashes=(2, 2)
        )
        plot.set_title(units.score(target), fontsize="medium")
        plot.set(ylim=(0, 1), yticks=[0, 0.5, 1], yticklabels=["0", "50", "100 %"], xlim=(0, None))
        sns.despine(ax=plot)
    figure.supxlabel(f"{unit.name} held", fontsize="medium")
    figure.supylabel(f"seeds with that {metric}" if layout.is_wide else "seeds", fontsize="medium")
    strategy_legend(figure, styles, [(name, name) for name in order], layout, None)
    return figure
