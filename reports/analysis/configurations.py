"""Which configurations were tried and how they did, for a plot in parallel coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.contract import Mode
from harness.contract.records import ParameterRecord
from reports import units
from reports.analysis.frames import CONFIG_PREFIX
from reports.analysis.scales import Places, Scale, parameter_scale
from reports.run import Run

MOST_LINES, MOST_POINTS = 240, 3200
"""No more lines than the first, and no more points of lines than the second."""
BEST_LINES = 30

_KEYS = ["strategy", "seed", "trial"]


def configurations(
    run: Run, reports: pd.DataFrame, trials: pd.DataFrame, finals: pd.DataFrame
) -> pd.DataFrame:
    """One row per trial: its best finite score, and the configuration under which it had that.

    A trial without a finite score has its last configuration.

    Args:
        reports, trials: as from :mod:`reports.analysis.frames`.
        finals: as from :func:`reports.analysis.incumbents.final_incumbents`.

    Returns:
        ``strategy``, ``seed``, ``trial``, ``status``, ``epochs`` (reports), ``score`` (NaN: none),
        ``is_incumbent`` (at its cell's end) and the ``config/…`` columns (NaN: absent).
    """
    sign = 1.0 if run.study.benchmark.mode == "min" else -1.0
    is_finite = np.isfinite(reports["validation_score"])
    loss = (sign * reports["validation_score"]).where(is_finite)
    # Without the configurations, which are most of the frame, until the rows are chosen.
    keys = reports[_KEYS]
    best = keys[is_finite].assign(loss=loss).sort_values("loss", kind="stable")
    chosen = pd.concat([best, keys[::-1]]).drop_duplicates(_KEYS).index
    config = [name for name in reports if str(name).startswith(CONFIG_PREFIX)]
    rows = reports.loc[chosen, [*_KEYS, "validation_score", *config]]
    ends = _without_report(run, rows)
    if len(ends):
        rows = pd.concat([rows, ends])
    frame = trials.merge(rows, how="left", on=_KEYS)
    score = frame["validation_score"]
    won = set(finals[_KEYS].itertuples(index=False, name=None))
    return frame.rename(columns={"epochs_run": "epochs"}).assign(
        score=score.where(np.isfinite(score)),
        is_incumbent=[key in won for key in frame[_KEYS].itertuples(index=False, name=None)],
    )[
        [*_KEYS, "status", "epochs", "score", "is_incumbent"]
        + [name for name in rows if str(name).startswith(CONFIG_PREFIX)]
    ]


def _without_report(run: Run, reported: pd.DataFrame) -> pd.DataFrame:
    """The configurations of trials that failed before their first report."""
    known = set(reported[_KEYS].itertuples(index=False, name=None))
    ends = {
        (*key, end.trial): end.config
        for key, cell in run.cells.items()
        for end in cell.ends
        if (*key, end.trial) not in known
    }
    rows = [
        {
            **dict(zip(_KEYS, key, strict=True)),
            **{f"{CONFIG_PREFIX}{name}": value for name, value in config.items()},
        }
        for key, config in ends.items()
    ]
    # As objects, so that an integer stays one where another row lacks the parameter.
    frame = pd.DataFrame(rows, dtype=object)
    return frame.astype(reported[_KEYS].dtypes.to_dict()) if rows else frame


@dataclass(frozen=True)
class ParallelPlot:
    """``lines`` are rows of :func:`configurations`, the best first and those without a score last;
    ``places`` (lines × scales, 0 … 1, NaN: absent) says where each crosses each scale: one per
    parameter, in the space's order, and the score's, on which better is higher.

    ``left_out`` trials are not among the lines; ``lost`` of the lines have no score.
    """

    scales: tuple[Scale, ...]
    places: Places
    lines: pd.DataFrame
    left_out: int
    lost: int


def parallel_plot(
    frame: pd.DataFrame, space: Mapping[str, ParameterRecord], metric: str, mode: Mode
) -> ParallelPlot:
    """Choose the lines to draw, and lay out the axes, by all trials.

    Args:
        frame: as from :func:`configurations`.
    """
    frame = frame.sort_values(
        "score", ascending=mode == "min", kind="stable", na_position="last"
    ).reset_index(drop=True)
    scales, places = parallel_axes(frame, space, metric, mode)
    chosen = _chosen(frame, min(MOST_LINES, MOST_POINTS // len(scales)))
    lines = frame.loc[chosen].reset_index(drop=True)
    return ParallelPlot(
        scales=scales,
        places=places[chosen],
        lines=lines,
        left_out=len(frame) - len(lines),
        lost=int(lines["score"].isna().sum()),
    )


def parallel_axes(
    frame: pd.DataFrame, space: Mapping[str, ParameterRecord], metric: str, mode: Mode
) -> tuple[tuple[Scale, ...], Places]:
    """A scale per parameter and one for the score, and each row's places on them (rows × scales).

    Scores lie on theirs by rank, the best at 1: a few bad ones would flatten the rest.
    """
    found = []
    for name, parameter in space.items():
        column = f"{CONFIG_PREFIX}{name}"
        values = frame[column].tolist() if column in frame else [math.nan] * len(frame)
        found.append(parameter_scale(name, parameter, values))
    found.append(_score_scale(frame["score"].to_numpy(dtype=float), metric, mode))
    return tuple(scale for scale, _ in found), np.column_stack([places for _, places in found])


def _score_scale(scores: Places, metric: str, mode: Mode) -> tuple[Scale, Places]:
    good = pd.Series(scores if mode == "max" else -scores)
    count = int(good.notna().sum())
    if not count:
        return Scale(metric, ()), np.full_like(scores, math.nan)
    rank = good.rank().to_numpy(dtype=float) - 1
    ordered = np.sort(scores[~np.isnan(scores)])[:: 1 if mode == "max" else -1]
    if ordered[0] == ordered[-1]:
        tick = (0.5, units.score(float(ordered[0])))
        return Scale(metric, (tick,)), np.where(np.isnan(rank), math.nan, 0.5)
    shares = (0.0, 0.25, 0.5, 0.75, 1.0) if count >= 5 else (0.0, 1.0)
    ticks = [(share, units.score(float(ordered[round(share * (count - 1))]))) for share in shares]
    return Scale(metric, tuple(ticks)), rank / (count - 1)


def _chosen(frame: pd.DataFrame, most: int) -> list[int]:
    """The best, the incumbents, and an even sample of the rest by rank."""
    if len(frame) <= most:
        return list(range(len(frame)))
    incumbents = np.flatnonzero(frame["is_incumbent"])[: most // 4]
    first = sorted({*range(BEST_LINES), *(int(row) for row in incumbents)})
    rest = np.setdiff1d(np.arange(len(frame)), first)
    even = np.linspace(0, len(rest) - 1, most - len(first)).round().astype(int)
    return sorted({*first, *(int(row) for row in rest[even])})
