"""From a run's records to frames: one row per report, per trial, per ledger line.

Frames keep their columns where they have no rows. ``None`` in a number is NaN here; in
``results.parquet`` the two stay apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from reports.columns import Config, ReportColumns
from reports.run import Cell, Run

CONFIG_PREFIX = "config/"


def report_columns(run: Run) -> ReportColumns:
    """Every report of every cell, in the order of the study and of the events, with ``strategy``
    and ``seed``."""
    found = [(key, run.cells[key].columns) for key in run.keys if key in run.cells]
    tables = [_with_cell("", 0, ReportColumns.of([]))]
    tables += [_with_cell(*key, columns) for key, columns in found]
    configs: list[Config] = []
    config_of = [np.array([], dtype=np.int64)]
    for _, columns in found:
        config_of.append(columns.config_of + len(configs))
        configs += columns.configs
    plain = pa.concat_tables(tables).combine_chunks()
    return ReportColumns(plain, tuple(configs), np.concatenate(config_of))


def _with_cell(strategy: str, seed: int, columns: ReportColumns) -> pa.Table:
    rows = columns.plain.num_rows
    names = pa.array([strategy] * rows, type=pa.string())
    seeds = pa.array([seed] * rows, type=pa.int64())
    table = columns.plain.add_column(0, "strategy", names)
    return table.add_column(table.column_names.index("trial"), "seed", seeds)


def config_columns(columns: ReportColumns, absent: float | None) -> dict[str, list[Any]]:
    """Each parameter's values in ``columns.configs`` (``absent``: it has none), in the order of
    appearance; names begin with ``config/``."""
    configs = columns.configs
    names = dict.fromkeys(name for config in configs for name in config)
    return {f"{CONFIG_PREFIX}{name}": [c.get(name, absent) for c in configs] for name in names}


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A frame's rows as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def by_cell(frame: pd.DataFrame) -> Callable[[str, int], pd.DataFrame]:
    """A look-up of a cell's rows: a long study is too long to be searched for each of its cells."""
    groups: dict[Any, pd.DataFrame] = dict(list(frame.groupby(["strategy", "seed"], sort=False)))
    nothing = frame.iloc[:0]
    return lambda strategy, seed: groups.get((strategy, seed), nothing)


def reports_frame(columns: ReportColumns) -> pd.DataFrame:
    """One row per report; configuration columns are named ``config/…``.

    Args:
        columns: as from :func:`report_columns`.
    """
    # As objects, so that an integer stays one where another cell lacks the parameter.
    config = pd.DataFrame(config_columns(columns, math.nan), dtype=object)
    config = config.take(columns.config_of).reset_index(drop=True)
    plain = columns.plain.to_pandas()
    scores = {name: within_reason(plain[name]) for name in ("validation_score", "test_score")}
    return pd.concat([plain.assign(**scores), config], axis=1)


LARGEST_SCORE = 1e100


def within_reason(scores: pd.Series) -> pd.Series:
    """Scores whose differences, sums and squares do not overflow: a finite one beyond 1e100 is
    taken for that."""
    return scores.where(~np.isfinite(scores), scores.clip(-LARGEST_SCORE, LARGEST_SCORE))


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
    reported = cell.columns.plain["trial"].to_pylist()
    last = dict(zip(reported, cell.columns.plain["epoch"].to_pylist(), strict=True))
    epochs = Counter(reported)
    ends = {end.trial: end for end in cell.ends if not end.retried}
    trials = sorted({*last, *(end.trial for end in cell.ends)})
    return [
        {
            "trial": trial,
            "status": ends[trial].status if trial in ends else "cut",
            "reason": ends[trial].reason if trial in ends else None,
            "last_epoch": last.get(trial, 0),
            "epochs_run": epochs[trial],
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
