"""``record --from``: adds the whole learning curves of finished runs to a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.recorded.table import Curve, Epoch, Recording, write_table
from harness.console import say
from harness.contract import UsageError
from harness.contract.records import Kind, Report, StudyRecord
from harness.recording.target import open_table, say_what_there_is
from reports.run import Cell
from reports.store import read_run


def record_runs(runs: Sequence[Path], out: Path, console: Console) -> int:
    """Add every trial that trained one configuration from its start to the cap, or to divergence.

    Raises:
        UsageError: a run cannot be read, is of another benchmark than the table, or none of them
            has a whole curve.
    """
    for path in runs:
        run = read_run(path)
        table, number = open_table(out, run.study.benchmark, _recording(path, run.study))
        curves = [
            curve for cell in run.cells.values() for curve in _whole_curves(cell, run.study, number)
        ]
        grown = table.with_curves(curves)
        say(
            console,
            f"{path}: {len(curves)} whole curves, {len(grown.curves) - len(table.curves)} of them "
            "new",
        )
        if len(grown.curves) > len(table.curves):
            write_table(grown, out)
    if not out.exists():
        raise UsageError(
            "no trial of these runs reached the epochs cap, so there is no whole curve to record: "
            "give runs with a larger budget, or `record --benchmark`"
        )
    say_what_there_is(grown, out, console)
    return 0


def _recording(path: Path, study: StudyRecord) -> Recording:
    return Recording(
        source=f"run {path.name}",
        device_kind=study.devices.kind,
        workers=study.devices.workers_per_trial,
        seconds="wall",
        versions=study.versions,
        machine=study.machine,
        git_commit=study.git_commit,
        recorded_at=study.created_at,
    )


def _whole_curves(cell: Cell, study: StudyRecord, recording: int) -> Iterator[Curve]:
    trials: defaultdict[int, list[Report]] = defaultdict(list)
    for report in cell.reports:
        trials[report.trial].append(report)
    scale = study.devices.per_slot
    for reports in trials.values():
        is_one = all(
            report.config == reports[0].config and report.parent is None for report in reports
        )
        last = reports[-1]
        if is_one and (last.epoch == cell.record.max_epochs or last.decision == "diverged"):
            epochs = tuple(_epoch(report, scale) for report in reports)
            yield Curve(reports[0].config, cell.record.seed, recording, epochs)


def _epoch(report: Report, devices_per_slot: float) -> Epoch:
    def seconds(kind: Kind) -> float:
        return devices_per_slot * sum(s.seconds for s in report.spans if s.kind == kind)

    return Epoch(
        validation_score=report.validation_score,
        validation_loss=report.validation_loss,
        train_loss=report.train_loss,
        test_score=report.test_score,
        start_seconds=seconds("restore") if report.epoch == 1 else 0.0,
        train_seconds=seconds("train"),
        evaluate_seconds=seconds("evaluate"),
        checkpoint_seconds=seconds("checkpoint"),
    )
