"""From a run's records to frames: one row per report, per trial, per ledger line.

Frames keep their columns where they have no rows. ``None`` in a number is NaN here; in
``results.parquet`` the two stay apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from harness.contract.records import KINDS, Report
from reports.run import Cell, Run

CONFIG_PREFIX = "config/"

KIND_COLUMNS = tuple(f"trial_{kind}_device_seconds" for kind in KINDS)
TEXT_COLUMNS = ("strategy", "tune_id", "decision")
INTEGER_COLUMNS = (
    "seed", "trial", "attempt", "slot", "epoch", "rung", "parent_trial", "parent_epoch",
)  # fmt: skip
FLOAT_COLUMNS = (
    "validation_score", "validation_loss", "train_loss", "test_score", "started_s", "reported_s",
    "held_device_seconds", *KIND_COLUMNS,
)  # fmt: skip


_NESTED = ("type", "config", "spans", "trial_device_seconds", "parent")
_PLAIN_FIELDS = tuple(name for name in Report.model_fields if name not in _NESTED)


def report_rows(run: Run) -> list[dict[str, Any]]:
    """Every report of every cell as flat data, in the order of the study and of the events."""
    return [
        _report_row(*key, report)
        for key in run.keys
        if key in run.cells
        for report in run.cells[key].reports
    ]


def config_columns(run: Run) -> list[str]:
    """The columns of :func:`report_rows` that hold configurations, in the order of appearance."""
    names = (
        name
        for key in run.keys
        if key in run.cells
        for report in run.cells[key].reports
        for name in report.config
    )
    return [f"{CONFIG_PREFIX}{name}" for name in dict.fromkeys(names)]


def _report_row(strategy: str, seed: int, report: Report) -> dict[str, Any]:
    seconds, parent = report.trial_device_seconds, report.parent
    return {
        "strategy": strategy,
        "seed": seed,
        **{name: getattr(report, name) for name in _PLAIN_FIELDS},
        "parent_trial": None if parent is None else parent.trial,
        "parent_epoch": None if parent is None else parent.epoch,
        **{
            column: seconds.get(kind, 0.0) for kind, column in zip(KINDS, KIND_COLUMNS, strict=True)
        },
        **{f"{CONFIG_PREFIX}{name}": value for name, value in report.config.items()},
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A frame's rows as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def by_cell(frame: pd.DataFrame) -> Callable[[str, int], pd.DataFrame]:
    """A look-up of a cell's rows: a long study is too long to be searched for each of its cells."""
    groups: dict[Any, pd.DataFrame] = dict(list(frame.groupby(["strategy", "seed"], sort=False)))
    nothing = frame.iloc[:0]
    return lambda strategy, seed: groups.get((strategy, seed), nothing)


def reports_frame(run: Run, rows: list[dict[str, Any]] | None = None) -> pd.DataFrame:
    """One row per report; configuration columns are named ``config/…``.

    ``rows``: as from :func:`report_rows`, where they are there already.
    """
    rows = report_rows(run) if rows is None else rows
    config = config_columns(run)
    columns = [*TEXT_COLUMNS, *INTEGER_COLUMNS, *FLOAT_COLUMNS, "is_incumbent"]
    frame = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(FLOAT_COLUMNS, float))
    # As objects, so that an integer stays one where another cell lacks the parameter.
    return pd.concat([frame, pd.DataFrame(rows, columns=config, dtype=object)], axis=1)


def trials_frame(run: Run) -> pd.DataFrame:
    """One row per trial.

    ``epochs_run`` counts its reports, those repeated after a failure too; ``last_epoch`` is that
    of its last report (0: none); ``device_seconds`` is all that was charged to it.
    """
    rows = [
        {"strategy": strategy, "seed": seed, **row}
        for (strategy, seed), cell in run.cells.items()
        for row in _trial_rows(cell)
    ]
    columns = [
        "strategy", "seed", "trial", "status", "reason", "last_epoch", "epochs_run", "max_epochs",
        "device_seconds",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _trial_rows(cell: Cell) -> list[dict[str, Any]]:
    charged: dict[int, float] = {}
    for row in cell.record.ledger:
        if row.trial is not None:
            charged[row.trial] = charged.get(row.trial, 0.0) + row.device_seconds
    last: dict[int, int] = {}
    epochs: dict[int, int] = {}
    for report in cell.reports:
        last[report.trial] = report.epoch
        epochs[report.trial] = epochs.get(report.trial, 0) + 1
    ends = {end.trial: end for end in cell.ends if not end.retried}
    trials = sorted({*last, *(end.trial for end in cell.ends)})
    return [
        {
            "trial": trial,
            "status": ends[trial].status if trial in ends else "cut",
            "reason": ends[trial].reason if trial in ends else None,
            "last_epoch": last.get(trial, 0),
            "epochs_run": epochs.get(trial, 0),
            "max_epochs": cell.record.max_epochs,
            "device_seconds": charged.get(trial, 0.0),
        }
        for trial in trials
    ]


def failures_frame(run: Run, trials: pd.DataFrame) -> pd.DataFrame:
    """One row per failed attempt and per diverged trial.

    ``epoch`` is where it ended; ``trial_device_seconds`` is what the whole trial was charged, so
    the rows of a retried trial repeat it.

    ``trials``: as from :func:`trials_frame`.
    """
    charged = {
        (row.strategy, row.seed, row.trial): row.device_seconds for row in trials.itertuples()
    }
    rows = [
        {
            "strategy": strategy,
            "seed": seed,
            "trial": end.trial,
            "attempt": end.attempt,
            "epoch": end.epoch,
            "status": end.status,
            "retried": end.retried,
            "reason": end.reason or "no reason recorded",
            "config": end.config,
            "trial_device_seconds": charged[strategy, seed, end.trial],
        }
        for (strategy, seed), cell in run.cells.items()
        for end in cell.ends
        if end.retried or end.status in ("failed", "diverged")
    ]
    columns = [
        "strategy", "seed", "trial", "attempt", "epoch", "status", "retried", "reason", "config",
        "trial_device_seconds",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def in_flight_frame(run: Run) -> pd.DataFrame:
    """One row per piece of work under way at a cell's cut; ``share`` is of the device time held."""
    rows = [
        {
            "strategy": strategy,
            "seed": seed,
            "trial": work.trial,
            "epoch": work.epoch,
            "device_seconds": work.device_seconds,
            "share": work.device_seconds / cell.record.held_device_seconds
            if cell.record.held_device_seconds > 0
            else 0.0,
        }
        for (strategy, seed), cell in run.cells.items()
        for work in cell.record.in_flight
    ]
    columns = ["strategy", "seed", "trial", "epoch", "device_seconds", "share"]
    return pd.DataFrame(rows, columns=columns)
