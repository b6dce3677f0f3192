"""The winner's schedule: one row per hyperparameter that changed on the way, and its score."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.contract.records import ParameterRecord
from reports import units
from reports.analysis.frames import CONFIG_PREFIX
from reports.analysis.scales import Tick, observed, parameter_scale
from reports.figures.style import BLUE, GREEN, INK, Layout, short

MOST_PARAMETERS = 6
MOST_MARKED_EPOCHS = 60
LEAST_BETWEEN_TICKS = 0.24
WARM_UP_SHARE = 0.1
"""The part of the epochs whose scores need not be on the axis, where they would flatten it."""


def draw_schedule(
    frame: pd.DataFrame,
    space: Mapping[str, ParameterRecord],
    metric: str,
    layout: Layout,
) -> Figure:
    """Draw :func:`reports.analysis.schedule.schedule`, which must not be empty.

    Of more than ``MOST_PARAMETERS`` those are drawn that changed most often. Dotted lines are where
    the weights of another trial were taken over.
    """
    names = drawn_parameters(frame)
    row = 0.8
    figure = Figure(figsize=(layout.width, 1.0 + row * (len(names) + 1.6)), layout="constrained")
    rows = figure.subplots(
        len(names) + 1, 1, sharex=True, squeeze=False, height_ratios=[1.6, *[1] * len(names)]
    )[:, 0]
    _draw_score(rows[0], frame, metric)
    for axes, name in zip(rows[1:], names, strict=True):
        _draw_parameter(axes, frame, name, space[name])
    exploited = frame.loc[frame["exploited"], "epoch"].to_numpy(dtype=float) - 0.5
    alpha = 0.6 if len(exploited) <= 20 else 0.2
    for axes in rows:
        # One line with gaps: a hundred of them would be large.
        axes.plot(
            np.repeat(exploited, 3), np.tile([0, 1, math.nan], len(exploited)), color=INK, lw=1,
            alpha=alpha, dashes=(1.5, 1.5), transform=axes.get_xaxis_transform(),
        )  # fmt: skip
        axes.grid(visible=False, axis="x")
        axes.tick_params(axis="x", bottom=axes is rows[-1])
        sns.despine(ax=axes)
    _name_trials(rows[0], frame, layout)
    rows[-1].set(xlim=(0.5, len(frame) + 0.5), xlabel="epochs of training")
    rows[-1].xaxis.set_major_locator(MaxNLocator(10 if layout.is_wide else 6, integer=True))
    return figure


def drawn_parameters(frame: pd.DataFrame) -> list[str]:
    """The names of the parameters that :func:`draw_schedule` draws, in the frame's order."""
    changes = {
        name: int((frame[name] != frame[name].shift())[1:].sum())
        for name in frame
        if str(name).startswith(CONFIG_PREFIX)
    }
    most = sorted(changes, key=lambda name: -changes[name])[:MOST_PARAMETERS]
    return [str(name).removeprefix(CONFIG_PREFIX) for name in changes if name in most]


def describe_schedule(frame: pd.DataFrame) -> str:
    """The schedule in a sentence."""
    if frame.empty:
        return "The incumbent's configuration never changed."
    changes = "; ".join(
        f"{name} from {units.setting(column.iloc[0])} to {units.setting(column.iloc[-1])} in "
        f"{units.counted(int((column != column.shift())[1:].sum()), 'step')}"
        for name in drawn_parameters(frame)
        if len(column := frame[f"{CONFIG_PREFIX}{name}"])
    )
    return (
        f"The {units.counted(len(frame), 'epoch')} of training behind the incumbent, in "
        f"{units.counted(frame['trial'].nunique(), 'trial')}: {changes}."
    )


def _draw_score(axes: Axes, frame: pd.DataFrame, metric: str) -> None:
    scores = frame["validation_score"].to_numpy(dtype=float)
    scores = np.where(np.isfinite(scores), scores, math.nan)
    marker = "o" if len(frame) <= MOST_MARKED_EPOCHS else ""
    axes.plot(frame["epoch"], scores, color=GREEN, lw=1.8, marker=marker, ms=3)
    later = scores[math.ceil(WARM_UP_SHARE * len(scores)) :]
    later = later[np.isfinite(later)]
    if len(later):
        low, high = later.min(), later.max()
        margin = 0.08 * (high - low)
        if np.nanmax(scores) - np.nanmin(scores) > 3 * (high - low) > 0:
            axes.set_ylim(low - margin, high + margin)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    # The trials' numbers come between.
    _title(axes, metric, pad=14)


def _draw_parameter(axes: Axes, frame: pd.DataFrame, name: str, parameter: ParameterRecord) -> None:
    values = frame[f"{CONFIG_PREFIX}{name}"].tolist()
    scale, places = parameter_scale(name, observed(parameter, values), values)
    # Each value holds for the whole epoch.
    edges = np.arange(len(frame) + 1) + 0.5
    axes.stairs(places, edges, baseline=None, color=BLUE, lw=1.8)
    ticks: list[Tick] = []
    for tick in [*scale.ticks[:1], *scale.ticks[:0:-1]]:
        if all(abs(tick[0] - place) >= LEAST_BETWEEN_TICKS for place, _ in ticks):
            ticks.append(tick)
    axes.set(
        ylim=(-0.12, 1.12),
        yticks=[place for place, _ in ticks],
        yticklabels=[short(label, 12) for _, label in ticks],
    )
    _title(axes, name)


def _title(axes: Axes, name: str, pad: float = 3) -> None:
    axes.set_title(short(name), loc="left", size=9, pad=pad)


def _name_trials(axes: Axes, frame: pd.DataFrame, layout: Layout) -> None:
    """Above the score, which trial trained which epochs, where there is room for it."""
    inches = (layout.width - 1) / len(frame)
    turns = [own for _, own in frame.groupby(frame["exploited"].cumsum())]
    texts = []
    for own in turns:
        trial, room = own["trial"].iloc[0], inches * len(own)
        texts.append(next((t for t in (f"trial {trial}", f"{trial}") if room > 0.08 * len(t)), ""))
    # A few of many numbers would look as if there were no other trials.
    if 2 * sum(map(bool, texts)) < len(turns) or inches * len(frame) < 0.15 * len(turns):
        return
    for own, text in zip(turns, texts, strict=True):
        axes.text(
            own["epoch"].mean(), 1.0, text, size=7.5, ha="center", va="bottom",
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
