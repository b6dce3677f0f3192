"""The schedule of hyperparameters that a winner's weights went through."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from harness.contract.records import ParameterRecord, Report
from reports.analysis.frames import CONFIG_PREFIX
from reports.analysis.lineage import lineage
from reports.run import Cell


def schedule(
    cell: Cell, space: Mapping[str, ParameterRecord], trial: int, epoch: int
) -> pd.DataFrame:
    """The epochs that the weights of a trial's ``epoch`` descend from, and how each was trained.

    Returns:
        One row per epoch of training: ``epoch`` (1, 2, …), ``trial`` (that reported it),
        ``exploited`` (it went on from the weights of another trial than the epoch before),
        ``validation_score``, and ``config/…`` of the parameters that were not the same throughout,
        in the space's order (NaN: absent). Empty where nothing changed, or where an epoch on the
        way was never reported.
    """
    try:
        path = lineage(cell.reports, trial, epoch)
    except KeyError:
        path = []
    changed = [name for name in space if _changes(path, name)]
    rows = [
        {
            "epoch": place,
            "trial": report.trial,
            "exploited": report.parent is not None,
            "validation_score": report.validation_score,
        }
        for place, report in enumerate(path if changed else [], start=1)
    ]
    columns = {"epoch": int, "trial": int, "exploited": bool, "validation_score": float}
    frame = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    for name in changed:
        values = [report.config.get(name, float("nan")) for report in path]
        frame[f"{CONFIG_PREFIX}{name}"] = pd.Series(values, dtype=object)
    return frame


def _changes(path: list[Report], name: str) -> bool:
    values = [report.config.get(name) for report in path]
    return any(value != values[0] for value in values)
