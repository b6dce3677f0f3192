"""Seconds of several recordings become those of the first one's machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.recorded.benchmark import RecordedTableBenchmark
from benchmarks.recorded.one_machine import on_one_machine
from benchmarks.recorded.table import SECONDS, Curve, RecordedTable, read_table, write_table
from tests.benchmarks.make_table import make_table

SLOWER = {"start": 3.0, "train": 2.0, "evaluate": 1.5, "checkpoint": 0.5}


def elsewhere(curve: Curve) -> Curve:
    epochs = tuple(
        replace(
            epoch,
            **{f"{kind}_seconds": getattr(epoch, f"{kind}_seconds") * times
               for kind, times in SLOWER.items()},
        )
        for epoch in curve.epochs
    )  # fmt: skip
    return replace(curve, recording=1, epochs=epochs)


def two_recordings(table: RecordedTable, curves: tuple[Curve, ...]) -> RecordedTable:
    own = table.record.recordings[0]
    record = table.record.model_copy(
        update={"recordings": [own, own.model_copy(update={"machine": {"cpu": "another"}})]}
    )
    return RecordedTable(record, curves)


@pytest.fixture(scope="module")
def table() -> RecordedTable:
    return make_table(configs=12, repeat_configs=6, repeat_seeds=3)


def test_the_benchmark_says_so_and_declares_the_first_machines_seconds(
    table: RecordedTable, tmp_path: Path
) -> None:
    of_one, of_two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    write_table(table, of_one)
    mixed = tuple(elsewhere(curve) if curve.seed > 0 else curve for curve in table.curves)
    write_table(two_recordings(table, mixed), of_two)
    one, two = (RecordedTableBenchmark(table=str(path)) for path in (of_one, of_two))
    assert two.epoch_device_seconds("CPU") == pytest.approx(one.epoch_device_seconds("CPU"))
    own = [caveat for caveat in two.caveats if caveat not in one.caveats]
    assert len(own) == 1 and "recorded elsewhere (another, 1 worker(s))" in own[0]
    # The file keeps what was measured: a recording that goes on adds to that.
    assert read_table(of_two).curves == mixed


def seconds(table: RecordedTable) -> list[float]:
    return [
        getattr(epoch, column)
        for curve in table.curves
        for epoch in curve.epochs
        for column in SECONDS
    ]


def test_what_another_machine_took_is_converted_column_by_column(table: RecordedTable) -> None:
    mixed = tuple(elsewhere(curve) if curve.seed > 0 else curve for curve in table.curves)
    found = on_one_machine(two_recordings(table, mixed))
    assert seconds(found) == pytest.approx(seconds(table))
    assert [curve.recording for curve in found.curves] == [curve.recording for curve in mixed]
    assert [curve.epochs[-1].validation_score for curve in found.curves] == [
        curve.epochs[-1].validation_score for curve in table.curves
    ]


def test_one_odd_configuration_does_not_decide(table: RecordedTable) -> None:
    """On some processors a run that collapsed is slow: its tiny numbers are."""
    odd = table.curves[0].config

    def slowed(curve: Curve) -> Curve:
        epochs = tuple(replace(e, train_seconds=40 * e.train_seconds) for e in curve.epochs)
        return replace(curve, epochs=epochs) if curve.config == odd else curve

    mixed = tuple(elsewhere(slowed(c)) if c.seed > 0 else c for c in table.curves)
    found = on_one_machine(two_recordings(table, mixed))
    whole = RecordedTable(table.record, tuple(c for c in table.curves if c.config != odd))
    there = RecordedTable(table.record, tuple(c for c in found.curves if c.config != odd))
    assert seconds(there) == pytest.approx(seconds(whole))


def test_with_no_configuration_in_common_seconds_stay(table: RecordedTable) -> None:
    mixed = tuple(elsewhere(c) if n >= 9 else c for n, c in enumerate(table.curves))
    mixed = tuple(c for c in mixed if c.config != table.curves[9].config or c.recording == 1)
    assert on_one_machine(two_recordings(table, mixed)).curves == mixed


def test_one_recording_stays_as_it_is(table: RecordedTable) -> None:
    assert on_one_machine(table).curves == table.curves
