"""The table that a recording adds to: a new one, or one that is there and records the same."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from benchmarks.recorded.table import (
    RecordedTable,
    Recording,
    TableRecord,
    read_table,
)
from harness.console import say
from harness.contract import UsageError
from harness.contract.records import BenchmarkRecord

UNRECORDED = frozenset({"dataset_source", "targets"})
"""Fields of a benchmark's record that change no curve."""


def open_table(
    out: Path, benchmark: BenchmarkRecord, recording: Recording
) -> tuple[RecordedTable, int]:
    """The table to add to and the number of this recording in it.

    Raises:
        UsageError: the file holds another benchmark, or cannot be written.
    """
    if not out.exists():
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {out} cannot be written: {error.strerror}") from None
        return RecordedTable(TableRecord(benchmark=benchmark, recordings=[recording]), ()), 0
    table = read_table(out)
    there = table.record.benchmark
    for field in BenchmarkRecord.model_fields:
        if field not in UNRECORDED and getattr(there, field) != getattr(benchmark, field):
            raise UsageError(
                f"--out {out} records {there.name!r} with another {field.replace('_', ' ')}: "
                f"{getattr(there, field)!r}, not {getattr(benchmark, field)!r}; "
                "give another --out, or the same benchmark and options"
            )
    recordings = table.record.recordings
    same = [n for n, before in enumerate(recordings) if _same_place(before, recording)]
    if same:
        return table, same[0]
    record = table.record.model_copy(update={"recordings": [*recordings, recording]})
    return RecordedTable(record, table.curves), len(recordings)


def _same_place(one: Recording, other: Recording) -> bool:
    own = {"recorded_at", "source", "git_commit"}
    return one.model_dump(exclude=own) == other.model_dump(exclude=own)


def say_what_there_is(table: RecordedTable, out: Path, console: Console) -> None:
    epochs = sum(len(curve.epochs) for curve in table.curves)
    say(
        console,
        f"table: {out} ({len(table.by_config())} configurations, {len(table.curves)} curves, "
        f"{epochs} epochs)",
    )
