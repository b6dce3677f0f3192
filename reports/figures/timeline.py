"""Where one cell's compute went: a lane per slot, its time coloured by kind of work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from reports import units
from reports.analysis.timeline import IN_FLIGHT, PIECE_KINDS, REST, gather
from reports.figures.style import INK, KIND_COLOURS, OCHRE, PAPER, Layout

COLOURS: dict[str, str] = {
    **dict[str, str](KIND_COLOURS.items()),
    IN_FLIGHT: OCHRE,
    REST: KIND_COLOURS["idle"],
}
MOST_LANES = {True: 32, False: 20}
"""By whether the layout is wide."""
MOST_PIECES, MOST_MARKS = 1000, 450
"""Of each kind of mark; what keeps the figure at 60 KB or so."""
LEAST_POINTS = 0.5
"""Pieces narrower than this are gathered."""
LEAST_SHARE, LEAST_AREA = 0.02, 0.12
"""What is lower, as a share of a lane, or smaller, in such points, cannot be seen."""
MOST_TRIALS_LABELLED = 40

_BAR = 0.36
"""Half a bar's height, in lanes."""
_TIME_UNITS = (
    (3 * 86400.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (600.0, 60.0, "minutes"),
    (1.0, 1.0, "seconds"), (0.0, 0.001, "milliseconds"),
)  # fmt: skip


def draw_timeline(
    pieces: pd.DataFrame, stretches: pd.DataFrame, incumbent_s: float | None, layout: Layout
) -> Figure:
    """Draw :func:`reports.analysis.timeline.timeline`, which must not be empty.

    Pieces that are too short to be seen share a stretch of their lane, one above the other. Where
    there are more slots than lanes, every second, third, … is shown, and those on which the winner
    ran.

    Args:
        stretches: as from :func:`reports.analysis.timeline.stretches`.
        incumbent_s: when the final incumbent was reported, in seconds since the cell's start.
    """
    slots = _shown_slots(pieces, stretches, MOST_LANES[layout.is_wide])
    lane_of = {slot: lane for lane, slot in enumerate(slots)}
    pieces = pieces[pieces["slot"].isin(slots)]
    stretches = stretches[stretches["slot"].isin(slots)]
    stretches = stretches.assign(lane=stretches["slot"].map(lane_of))
    end_s = float(pieces["end_s"].max())
    per_unit, unit = next((size, name) for least, size, name in _TIME_UNITS if end_s >= least)
    s_per_point = end_s / (72 * (layout.width - 0.7))
    row = float(np.clip(5.5 / len(slots), 0.17, 0.34))
    below, above = _bars(pieces, s_per_point, MOST_PIECES)
    seen = {*below["kind"], *above["kind"]}
    keys: list[Artist] = [
        Patch(facecolor=COLOURS[kind], edgecolor="none", label=kind)
        for kind in PIECE_KINDS
        if kind in seen
    ]
    ends = _few(stretches[stretches["ended_early"]], "end_s", s_per_point)
    keys += _mark_keys(ends, stretches, incumbent_s)
    columns = 5 if layout.is_wide else 2
    height = 0.7 + row * len(slots) + 0.24 * -(-len(keys) // columns)
    figure = Figure(figsize=(layout.width, height), layout="constrained")
    axes = figure.subplots()
    for bars in (below, above):
        _draw_bars(axes, bars.assign(lane=bars["slot"].map(lane_of)), per_unit)
    borders = _few(stretches[stretches["start_s"] > 0], "start_s", s_per_point)
    _draw_lines(axes, borders, ("start_s", "start_s"), (-_BAR, _BAR), per_unit, PAPER, 0.8)
    _draw_lines(axes, ends, ("end_s", "end_s"), (-0.5, -0.1), per_unit, INK, 1.0)
    won = stretches[stretches["is_winner"]]
    _draw_lines(axes, won, ("start_s", "end_s"), (0.44, 0.44), per_unit, INK, 2.0)
    if stretches["trial"].nunique() <= MOST_TRIALS_LABELLED:
        _label_trials(axes, stretches, per_unit, s_per_point)
    if incumbent_s is not None:
        _mark_incumbent(axes, stretches, incumbent_s, per_unit)
    is_every = len(slots) == 1 + max(slots)
    step = -(-len(slots) // 16)
    axes.set(
        xlim=(0, end_s / per_unit),
        ylim=(len(slots) - 0.4, -0.6),
        yticks=range(0, len(slots), step),
        yticklabels=slots[::step],
        xlabel=f"{unit} since the cell's start",
        ylabel="slot" if is_every else "slot (not all are shown)",
    )
    axes.xaxis.set_major_locator(MaxNLocator(8 if layout.is_wide else 5))
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)
    sns.despine(ax=axes, left=True)
    figure.legend(
        handles=keys, loc="outside lower left", ncols=columns, handlelength=1.2, columnspacing=1.2
    )
    return figure


def describe_timeline(pieces: pd.DataFrame, stretches: pd.DataFrame) -> str:
    """The timeline in a sentence.

    Args: as for :func:`draw_timeline`.
    """
    if pieces.empty:
        return "Timeline of a cell in which nothing ran."
    seconds = (pieces["end_s"] - pieces["start_s"]).groupby(pieces["kind"]).sum()
    shares = ", ".join(
        f"{kind} {units.percent(seconds[kind] / seconds.sum())}"
        for kind in PIECE_KINDS
        if kind in seconds
    )
    early = stretches.loc[stretches["ended_early"], "trial"].nunique()
    winner = stretches.loc[stretches["is_winner"], "trial"]
    return (
        f"Timeline of {units.counted(pieces['slot'].nunique(), 'slot')} over "
        f"{units.seconds(float(pieces['end_s'].max()))}: {shares}; "
        f"{units.counted(stretches['trial'].nunique(), 'trial')}, {early:,} of them ended early"
        + (f"; trial {winner.iloc[0]} gave the final incumbent." if len(winner) else ".")
    )


def _shown_slots(pieces: pd.DataFrame, stretches: pd.DataFrame, most: int) -> list[int]:
    slots = sorted(int(slot) for slot in pieces["slot"].unique())
    every = slots[:: -(-len(slots) // most)]
    if len(every) < len(slots):
        won = stretches.loc[stretches["is_winner"], "slot"].unique()[: most // 4]
        return sorted({*every, *(int(slot) for slot in won)})
    return every


def _bars(pieces: pd.DataFrame, s_per_point: float, most: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One bar per slot in the kind that it has most of, and what is drawn over it: no more than
    ``most`` pieces, so that they are gathered more and more until they are so few."""
    sums = (pieces["end_s"] - pieces["start_s"]).groupby([pieces["slot"], pieces["kind"]]).sum()
    usual = sums.reset_index(name="seconds").sort_values("seconds").groupby("slot")["kind"].last()
    below = pd.DataFrame(
        {"slot": usual.index, "kind": usual, "start_s": 0.0, "low": 0.0, "high": 1.0}
    )
    below["end_s"] = pieces["end_s"].max()
    least_s = LEAST_POINTS * s_per_point
    while True:
        gathered = gather(pieces, least_s)
        share = gathered["high"] - gathered["low"]
        area = share * (gathered["end_s"] - gathered["start_s"]) / s_per_point
        is_seen = (share >= LEAST_SHARE) & (area >= LEAST_AREA)
        above = gathered[is_seen & (gathered["kind"] != gathered["slot"].map(usual))]
        if len(above) <= most:
            return below, above
        least_s *= 1.5


def _draw_bars(axes: Axes, bars: pd.DataFrame, per_unit: float) -> None:
    """One path per kind."""
    for kind, own in bars.groupby("kind"):
        left, right, lane, low, high = (
            own[name].to_numpy(dtype=float) for name in ("start_s", "end_s", "lane", "low", "high")
        )
        bottom = lane + _BAR
        edges = np.column_stack(
            [left / per_unit, right / per_unit, bottom - 2 * _BAR * high, bottom - 2 * _BAR * low]
        )
        axes.add_artist(PathPatch(_path(edges), facecolor=COLOURS[str(kind)], linewidth=0))


def _path(rectangles: NDArray[np.float64]) -> Path:
    """Of rows (left, right, top, bottom)."""
    corners = rectangles[:, [0, 2, 1, 2, 1, 3, 0, 3, 0, 2]].reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(corners, codes * len(rectangles))


def _draw_lines(
    axes: Axes,
    stretches: pd.DataFrame,
    times: tuple[str, str],
    heights: tuple[float, float],
    per_unit: float,
    colour: str,
    width: float,
) -> None:
    """A line per stretch, all as one path: between two of its times, and two heights in lanes."""
    if stretches.empty:
        return
    x = stretches[list(times)].to_numpy(dtype=float) / per_unit
    y = stretches["lane"].to_numpy(dtype=float)[:, np.newaxis] + heights
    path = Path(np.stack([x, y], axis=-1).reshape(-1, 2), [Path.MOVETO, Path.LINETO] * len(x))
    lines = PathPatch(
        path, facecolor="none", edgecolor=colour, linewidth=width, capstyle="butt", zorder=2,
        clip_on=False,
    )  # fmt: skip
    axes.add_artist(lines)


def _few(stretches: pd.DataFrame, column: str, s_per_point: float) -> pd.DataFrame:
    """Those that can be told from each other; none where there are too many, since a part of them
    would look like all."""
    place = (stretches[column] // (3 * s_per_point)).rename("place")
    apart = stretches.groupby(["lane", place]).head(1)
    return apart if len(apart) <= MOST_MARKS else apart.head(0)


def _label_trials(axes: Axes, stretches: pd.DataFrame, per_unit: float, s_per_point: float) -> None:
    for row in stretches.to_dict("records"):
        text = str(row["trial"])
        if row["end_s"] - row["start_s"] > (5.5 * len(text) + 6) * s_per_point:
            x = (row["start_s"] + row["end_s"]) / 2 / per_unit
            axes.text(x, row["lane"], text, color=PAPER, size=8, ha="center", va="center_baseline")


def _mark_incumbent(
    axes: Axes, stretches: pd.DataFrame, incumbent_s: float, per_unit: float
) -> None:
    own = stretches[stretches["is_winner"] & (stretches["start_s"] <= incumbent_s)]
    if len(own):
        lane = own.sort_values("start_s")["lane"].iloc[-1]
        axes.plot(
            [incumbent_s / per_unit], [lane], "D", color=INK, mec=PAPER, ms=6.5, zorder=3,
            clip_on=False,
        )  # fmt: skip


def _mark_keys(
    ends: pd.DataFrame, stretches: pd.DataFrame, incumbent_s: float | None
) -> list[Line2D]:
    keys = []
    if len(ends):
        keys.append(Line2D([], [], ls="", marker="|", color=INK, ms=9, label="stopped or diverged"))
    won = stretches.loc[stretches["is_winner"], "trial"]
    if len(won):
        keys.append(Line2D([], [], color=INK, lw=2, label=f"trial {won.iloc[0]}: incumbent"))
        if incumbent_s is not None:
            keys.append(
                Line2D([], [], ls="", marker="D", color=INK, mec=PAPER, ms=6.5, label="its best")
            )
    return keys
