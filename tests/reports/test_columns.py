"""Reports as columns and lines: the same again, also in a run of many cells."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.perf.load import copy_until, count_events
from harness.contract.records import Report
from reports.analysis.frames import report_columns, reports_frame
from reports.build import build_report
from reports.columns import ReportColumns, StoredReports
from reports.store import read_run
from reports.tables import RESULTS_FILE
from tests.reports.make_run import report, write_realistic_run


def stored(reports: list[Report]) -> StoredReports:
    lines = b"\n".join(report.model_dump_json().encode() for report in reports)
    return StoredReports(ReportColumns.of(reports), lines)


def test_reports_come_back() -> None:
    reports = [
        report(trial, epoch, 0.1 * epoch, 10.0 * epoch, parent={"trial": 0, "epoch": 1})
        for trial in range(3)
        for epoch in range(1, 1500)
    ]
    found = stored(reports)
    assert len(found) == len(reports) and list(found) == reports
    assert found[-1] == reports[-1] and found[7:9] == tuple(reports[7:9])
    assert found.columns.plain["epoch"].to_pylist() == [report.epoch for report in reports]
    assert len(found.columns.configs) == 3, "a trial's epochs share their configuration"
    assert list(stored([])) == [] and len(stored([])) == 0


@pytest.mark.parametrize("values", [[1, 1.0, True, "1", None, 1], [0.1, 0.1, 0.2]])
def test_equal_is_not_the_same(values: list[object]) -> None:
    reports = [report(0, 1 + i, 0.5, 1.0, config={"x": value}) for i, value in enumerate(values)]
    columns = ReportColumns.of(reports)
    found = [columns.configs[place]["x"] for place in columns.config_of]
    assert [(type(value), value) for value in found] == [(type(v), v) for v in values]


def test_null_is_not_nan() -> None:
    columns = ReportColumns.of([report(0, 1, math.nan, 1.0, test_score=None)])
    (row,) = columns.plain.to_pylist()
    assert math.isnan(row["validation_score"]) and row["test_score"] is None


def test_a_run_of_many_cells(tmp_path: Path) -> None:
    """A small version of what ``benchmarks.perf.load`` measures."""
    source = write_realistic_run(tmp_path / "source", ("random/asha", "pbt"), (0, 1))
    copy_until(source, 8000, tmp_path / "large")
    run = read_run(tmp_path / "large")
    assert not run.problems and len(run.keys) == len(run.cells) > 20
    assert 8000 <= count_events(run.path) < 8000 + count_events(source)
    frame = reports_frame(report_columns(run))
    of_source = reports_frame(report_columns(read_run(source)))
    for strategy, seed in run.keys:
        own = frame[(frame["strategy"] == strategy) & (frame["seed"] == seed)]
        there = of_source[(of_source["strategy"] == strategy) & (of_source["seed"] == seed % 2)]
        pd.testing.assert_frame_equal(
            own.drop(columns="seed").reset_index(drop=True),
            there.drop(columns="seed").reset_index(drop=True),
        )
    assert build_report(run.path).stat().st_size > 100_000
    assert len(pd.read_parquet(run.path / RESULTS_FILE)) == len(frame)
