"""Where the device time went: one bar of kinds per strategy."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from harness.contract.records import Kind
from reports import units
from reports.analysis.compute import USEFUL_KINDS
from reports.figures.bars import Bar, Piece, draw_bars
from reports.figures.style import KIND_COLOURS, Layout, short

ORDER: tuple[Kind, ...] = ("train", "evaluate", "checkpoint", "restore", "setup", "lost", "idle")
"""The useful kinds first, so that the bars compare."""


def draw_device_time(by_strategy: pd.DataFrame, order: Sequence[str], layout: Layout) -> Figure:
    """Draw :func:`reports.analysis.compute.device_time_by_strategy` as shares of the time held."""
    bars = []
    seconds = by_strategy.to_dict("index")
    for name in order:
        own = seconds.get(name)
        if own is None or own["held"] <= 0:
            continue
        useful = sum(own[kind] for kind in USEFUL_KINDS) / own["held"]
        pieces = [Piece(kind, own[kind] / own["held"], KIND_COLOURS[kind]) for kind in ORDER]
        bars.append(Bar(short(name), f"{units.percent(useful)} useful", pieces))
    return draw_bars(bars, "share of the device time held", "", layout)
