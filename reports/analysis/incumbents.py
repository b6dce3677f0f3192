"""The incumbent over time, chosen by validation score without look-ahead."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.contract import Mode
from reports.analysis.frames import CONFIG_PREFIX

STEP_COLUMNS = [
    "strategy", "seed", "held_device_seconds", "reported_s", "trial", "epoch",
    "validation_score", "test_score",
]  # fmt: skip


def of_sound_trials(reports: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Without what trials reported that failed afterwards: it counts for nobody, from the start.

    Args:
        reports: as from :func:`reports.analysis.frames.reports_frame`.
        trials: as from :func:`reports.analysis.frames.trials_frame`.
    """
    failed = trials.loc[trials["status"] == "failed", ["strategy", "seed", "trial"]]
    if failed.empty:
        return reports
    keys = pd.MultiIndex.from_frame(reports[["strategy", "seed", "trial"]])
    return reports[~keys.isin(pd.MultiIndex.from_frame(failed))]


def incumbent_steps(reports: pd.DataFrame, mode: Mode) -> pd.DataFrame:
    """The reports that made a new incumbent, per cell in order of the compute held by then.

    A score exists from ``held_device_seconds`` of its report on; NaN and ±inf are never
    incumbents; of equal scores the earlier stays.

    Args:
        reports: those that count (see :func:`of_sound_trials`).
        mode: the direction in which scores improve.

    Returns:
        ``STEP_COLUMNS`` and the ``config/…`` ones; ``test_score`` may be NaN.
    """
    finite = reports[np.isfinite(reports["validation_score"])]
    # Of all cells at once, as a long study has hundreds: in the order of their first reports.
    cell = finite.groupby(["strategy", "seed"], sort=False).ngroup()
    finite = finite.assign(_cell=cell).sort_values(["_cell", "held_device_seconds"], kind="stable")
    loss = finite["validation_score"] * (-1.0 if mode == "max" else 1.0)
    best_so_far = loss.groupby(finite["_cell"]).cummin()
    best_before = best_so_far.groupby(finite["_cell"]).shift(fill_value=np.inf)
    return _step_columns(finite[loss < best_before].reset_index(drop=True))


def _step_columns(reports: pd.DataFrame) -> pd.DataFrame:
    config = reports.columns[reports.columns.str.startswith(CONFIG_PREFIX)]
    return reports[[*STEP_COLUMNS, *config]]


def final_incumbents(steps: pd.DataFrame) -> pd.DataFrame:
    """The last incumbent of each cell; a cell without a finite score has no row."""
    return steps.groupby(["strategy", "seed"], sort=False).tail(1).reset_index(drop=True)
