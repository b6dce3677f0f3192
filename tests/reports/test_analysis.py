"""The ledger's frames, failures, and every field of the summary."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract import Mode
from harness.contract.records import (
    KINDS,
    CellRecord,
    CellSummary,
    Incumbent,
    InFlight,
    LedgerRow,
)
from reports.analysis import Analysis, analyse
from reports.analysis.compute import device_time, device_time_by_strategy, ledger_gaps
from reports.run import Cell, Run
from reports.store import read_run
from tests.reports.make_run import (
    cell,
    end,
    report,
    study,
    write_cell,
    write_realistic_run,
    write_study,
)


@pytest.fixture(params=get_args(Mode))
def mode(request: Any) -> Mode:
    return request.param


def analysed(folder: Path, **fields: Any) -> Analysis:
    write_study(folder, study(["a", "b"], [0], **fields))
    write_cell(
        folder,
        cell(
            "a",
            ledger=[
                LedgerRow(trial=0, kind="train", device_seconds=50.0),
                LedgerRow(trial=1, kind="train", device_seconds=20.0),
                LedgerRow(trial=0, kind="evaluate", device_seconds=10.0),
                LedgerRow(trial=None, kind="idle", device_seconds=15.0),
                LedgerRow(trial=1, kind="setup", device_seconds=5.0),
            ],
            in_flight=[InFlight(trial=2, epoch=1, device_seconds=4.0)],
        ),
        [
            report(0, 1, 0.5, 20.0),
            report(0, 2, math.nan, 30.0, "diverged"),
            end(0, 2, "diverged", reason="NaN"),
            report(1, 1, 0.6, 40.0, test_score=0.58),
            end(1, 1, "failed", reason="killed", retried=True),
            report(1, 1, 0.6, 60.0, "stop", attempt=1),
            end(1, 1, "stopped", attempt=1),
            end(2, 0, "cut"),
        ],
    )
    return analyse(read_run(folder))


def test_every_field_of_the_summary(tmp_path: Path, mode: Mode) -> None:
    summary = analysed(tmp_path, mode=mode).summary
    assert summary.mode == mode
    assert summary.strategies["a"]["0"] == CellSummary(
        status="completed",
        reason="the budget was spent",
        trials=3,
        failed_trials=0,
        diverged_trials=1,
        epochs_run=4,
        epochs_full=12,
        epoch_savings=1 - 4 / 12,
        best_validation=0.6 if mode == "max" else 0.5,
        test_of_incumbent=0.58 if mode == "max" else 0.5,
        device_seconds_held=100.0,
        device_seconds_by_kind={
            "setup": 5.0, "train": 70.0, "evaluate": 10.0, "checkpoint": 0.0, "restore": 0.0,
            "idle": 15.0,
            "lost": 0.0,
        },
        useful_share=0.8,
        setup_seconds=12.0,
        wall_seconds=62.0,
    )  # fmt: skip
    missing = summary.strategies["b"]["0"]
    assert (missing.status, missing.reason) == ("missing", "not run: it has no folder")
    assert (missing.trials, missing.best_validation, missing.useful_share) == (0, None, None)


def test_failures_and_work_in_flight(tmp_path: Path) -> None:
    found = analysed(tmp_path)
    columns = ["trial", "attempt", "epoch", "status", "retried", "reason", "trial_device_seconds"]
    assert found.failures[columns].to_numpy().tolist() == [
        [0, 0, 2, "diverged", False, "NaN", 60.0],
        [1, 0, 1, "failed", True, "killed", 25.0],
    ]
    assert found.in_flight.to_numpy().tolist() == [["a", 0, 2, 1, 4.0, 0.04]]


def test_an_incumbent_that_its_events_deny_is_named(tmp_path: Path) -> None:
    write_study(tmp_path, study(["a"]))
    claimed = Incumbent(
        trial=0, epoch=1, config={}, validation_score=0.9, test_score=None, reported_s=1.0,
        held_device_seconds=1.0,
    )  # fmt: skip
    fields = cell("a", incumbent=claimed, ledger=[])
    write_cell(tmp_path, fields, [report(0, 1, 0.5, 1.0), end(0, 1, "cut")])
    lines = analyse(read_run(tmp_path)).inconsistencies
    assert lines == (
        "a, seed 0: the ledger's kinds sum to 0.0 device-seconds, but 100.0 were held.",
        "a, seed 0: cell.json names an incumbent of 0.9, the events one of 0.5; "
        "this report uses the events.",
    )


def test_a_realistic_run_is_consistent(tmp_path: Path, mode: Mode) -> None:
    found = analyse(read_run(write_realistic_run(tmp_path, seeds=(0, 1), mode=mode)))
    assert found.inconsistencies == ()
    assert len(found.finals) == 12
    parts = found.rungs[["promoted", "stopped", "finished", "failed", "diverged", "cut"]]
    assert (parts.sum(axis=1) == found.rungs["entered"]).all()
    by_rung = found.rungs.groupby("strategy")[["epochs_run", "epochs_saved"]].sum()
    savings = found.savings.set_index("strategy")
    assert by_rung["epochs_run"].equals(savings["epochs_run"].reindex(by_rung.index))
    assert (by_rung.sum(axis=1) == savings["epochs_full"].reindex(by_rung.index)).all()


LEDGERS = st.lists(
    st.tuples(st.none() | st.integers(0, 3), st.sampled_from(KINDS), st.floats(0, 1e6, width=32)),
    max_size=20,
)


@settings(deadline=None, max_examples=40)
@given(LEDGERS)
def test_the_kinds_sum_to_the_time_held(rows: list) -> None:
    held = sum(row[2] for row in rows)
    ledger = [LedgerRow(trial=t, kind=k, device_seconds=s) for t, k, s in rows]
    fields = cell("a", ledger=ledger, held_device_seconds=held)
    record = CellRecord(events=0, events_sha256="", **fields)
    run = Run(Path(), study(["a"]), {("a", 0): Cell(record, (), ())}, {})
    frame = device_time(run)
    assert frame["device_seconds"].sum() == pytest.approx(held)
    assert frame["share"].sum() == pytest.approx(1.0 if held > 0 else 0.0)
    assert ledger_gaps(frame).empty
    wide = device_time_by_strategy(frame)
    assert list(wide.columns) == [*KINDS, "held"]
    assert wide[list(KINDS)].sum(axis=1).tolist() == pytest.approx(wide["held"].tolist())
