"""results.parquet and summary.json."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from harness.contract.records import Summary
from reports.analysis import analyse
from reports.analysis.frames import report_columns
from reports.store import read_run
from reports.tables import write_results
from tests.reports.make_run import cell, report, study, write_cell, write_study


def test_every_report_survives_the_trip(tmp_path: Path) -> None:
    write_study(tmp_path, study(["a", "b"]))
    configs = [
        {"lr": 0.1, "n": 1, "act": "relu", "mixed": 1, "flag": True, "some": None, "big": 2**70},
        {"lr": 1, "n": 2, "act": "<b>", "mixed": "1", "flag": False, "some": 0.5, "big": 1},
    ]
    events = [
        report(0, 1, math.nan, 1.0, config=configs[0], test_score=None, rung=1),
        report(1, 1, -math.inf, 2.0, config=configs[1], parent={"trial": 0, "epoch": 1}),
    ]
    write_cell(tmp_path, cell("a"), events)
    write_cell(tmp_path, cell("b"), [report(0, 1, 0.5, 1.0, config={"lr": 0.2, "only_b": 3})])
    run = read_run(tmp_path)
    summary = analyse(run).summary
    results, summary_json = write_results(tmp_path, report_columns(run), summary)

    table = pq.read_table(results)
    assert table.schema.metadata[b"format_version"] == b"1"
    rows = table.to_pylist()
    assert len(rows) == 3
    assert math.isnan(rows[0]["validation_score"])
    assert rows[0]["test_score"] is None
    assert rows[1]["validation_score"] == -math.inf
    assert (rows[1]["parent_trial"], rows[0]["parent_trial"]) == (0, None)
    assert [row["config/lr"] for row in rows] == [0.1, 1.0, 0.2]
    assert [row["config/mixed"] for row in rows] == ["1", '"1"', None]
    assert [row["config/flag"] for row in rows] == [True, False, None]
    assert [row["config/some"] for row in rows] == [None, 0.5, None]
    assert rows[0]["config/big"] == str(2**70)
    assert [row["config/only_b"] for row in rows] == [None, None, 3]
    assert pd.read_parquet(results)["strategy"].tolist() == ["a", "a", "b"]

    assert Summary.model_validate_json(summary_json.read_text()) == summary
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cells", "results.parquet", "study.json", "summary.json",
    ]  # fmt: skip


def test_no_report_is_an_empty_table(tmp_path: Path) -> None:
    run = read_run(write_study(tmp_path, study(["a"])))
    results, _ = write_results(tmp_path, report_columns(run), analyse(run).summary)
    assert len(pd.read_parquet(results)) == 0
