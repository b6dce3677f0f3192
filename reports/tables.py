"""``results.parquet`` and ``summary.json``, made from a run and its analysis."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.contract.files import write_atomically
from harness.contract.records import FORMAT_VERSION, Summary
from reports.analysis.frames import config_columns
from reports.columns import ReportColumns
from reports.store import RESULTS_FILE, SUMMARY_FILE

_INT64 = range(-(2**63), 2**63)


def write_results(run: Path, columns: ReportColumns, summary: Summary) -> tuple[Path, Path]:
    """Write both files into the run's folder, each whole or not at all; returns their paths.

    ``columns``: as from :func:`reports.analysis.frames.report_columns`.
    """
    results, summary_json = run / RESULTS_FILE, run / SUMMARY_FILE
    write_atomically(results, results_parquet(columns))
    write_atomically(summary_json, summary.model_dump_json(indent=2) + "\n")
    return results, summary_json


def results_parquet(columns: ReportColumns) -> bytes:
    """Every report of every cell as a Parquet file, ``format_version`` in its metadata.

    NaN stays NaN and ``None`` stays null. A configuration column whose values are of several
    types holds their JSON.
    """
    table = columns.plain
    for name, values in config_columns(columns, None).items():
        table = table.append_column(name, _config_column(values).take(columns.config_of))
    table = table.replace_schema_metadata({"format_version": str(FORMAT_VERSION)})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _config_column(values: Sequence[Any]) -> pa.Array:
    types = {type(value) for value in values} - {type(None)}
    if types == {bool}:
        return pa.array(values, type=pa.bool_())
    if types == {int} and all(value is None or value in _INT64 for value in values):
        return pa.array(values, type=pa.int64())
    if types == {float} or types == {int, float}:
        return pa.array([None if v is None else float(v) for v in values], type=pa.float64())
    if types <= {str}:
        return pa.array(values, type=pa.string())
    return pa.array([None if v is None else json.dumps(v) for v in values], type=pa.string())
