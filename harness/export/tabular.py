"""Tables: a row per trial and a row per epoch, as CSV or Parquet."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pyarrow as pa

from harness.contract import UsageError
from harness.contract.files import write_atomically
from reports.analysis.frames import (
    CONFIG_PREFIX,
    report_columns,
    reports_frame,
    trials_frame,
)
from reports.columns import TYPES
from reports.run import Run
from reports.tables import results_parquet

TRIALS, EPOCHS = "trials", "epochs"
_WHOLE = {name: "Int64" for name, kind in TYPES.items() if pa.types.is_integer(kind)}
"""``3``, not ``3.0``, also in a column that has gaps."""


def export_tables(run: Run, form: str, folder: Path) -> str:
    """Write ``trials`` and ``epochs`` of every finished cell; returns where, in words.

    Args:
        form: ``csv`` or ``parquet``.

    Raises:
        UsageError: no cell is finished, or the folder cannot be written.
    """
    if not run.cells:
        raise UsageError(f"{run.path} has no finished cell to export")
    trials = trials_table(run)
    columns = report_columns(run)
    contents: dict[str, bytes | str]
    if form == "csv":
        contents = {
            TRIALS: trials.to_csv(index=False),
            EPOCHS: reports_frame(columns).astype(_WHOLE).to_csv(index=False),
        }
    else:
        contents = {TRIALS: trials.to_parquet(index=False), EPOCHS: results_parquet(columns)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_atomically(folder / f"{name}.{form}", content)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}; name another") from None
    left_out = f" ({len(run.problems)} cells not finished, left out)" if run.problems else ""
    return f"{folder / TRIALS}.{form}, {folder / EPOCHS}.{form}{left_out}"


def trials_table(run: Run) -> pd.DataFrame:
    """:func:`reports.analysis.frames.trials_frame` with each trial's best and last validation
    score and its last configuration (columns ``config/…``)."""
    sign = 1 if run.study.benchmark.mode == "max" else -1
    rows = []
    for (strategy, seed), cell in run.cells.items():
        facts: dict[int, dict[str, object]] = {
            end.trial: {f"{CONFIG_PREFIX}{name}": value for name, value in end.config.items()}
            for end in cell.ends
        }
        best: dict[int, float] = {}
        for report in cell.reports:
            score = report.validation_score
            if math.isfinite(score):
                best[report.trial] = sign * max(
                    sign * score, sign * best.get(report.trial, -sign * math.inf)
                )
            facts[report.trial] = {
                "best_validation_score": best.get(report.trial, math.nan),
                "last_validation_score": score,
                **{f"{CONFIG_PREFIX}{name}": value for name, value in report.config.items()},
            }
        key = {"strategy": strategy, "seed": seed}
        rows += [{**key, "trial": trial, **fields} for trial, fields in facts.items()]
    columns = ["strategy", "seed", "trial", "best_validation_score", "last_validation_score"]
    columns += dict.fromkeys(name for row in rows for name in row if name not in columns)
    table = pd.DataFrame(rows, columns=columns)
    return trials_frame(run).merge(table, on=["strategy", "seed", "trial"], how="left")
