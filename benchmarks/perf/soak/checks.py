"""Whether a study that was disturbed is whole."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.analytic.quadratic_session import QuadraticSession
from harness.contract.records import KINDS, Report
from harness.store import EARLIER
from reports.run import Cell
from reports.store import cell_folder, read_run

TOLERANCE = 0.01
"""Of the ledger's sum."""


@dataclass(frozen=True)
class Found:
    """``seconds``: device-seconds by kind over all cells."""

    killed: Mapping[str, int]
    cells: int
    reports: int
    seconds: Mapping[str, float]
    restarted: int
    problems: list[str]

    def lines(self) -> Iterator[str]:
        killed = ", ".join(f"{count} × {kind}" for kind, count in sorted(self.killed.items()))
        yield f"kills: {sum(self.killed.values())} ({killed})"
        yield f"cells: {self.cells}, {self.restarted} of them begun anew; reports: {self.reports}"
        held = sum(self.seconds.values())
        yield "device-seconds: " + ", ".join(
            f"{kind} {seconds:.0f} ({seconds / held:.1%})" for kind, seconds in self.seconds.items()
        )
        yield from self.problems or ["nothing that was reported before a kill was lost"]


def journal_bytes(out: Path) -> int:
    """How much has been written to all journals so far."""
    return sum(path.stat().st_size for path in out.glob("cells/*/journal.jsonl"))


def journalled(out: Path) -> dict[Path, set[str]]:
    """What has been reported so far, by cell: trial and epoch counts as lines of its journal."""
    return {
        path.parent: set(_identified(path.read_text().splitlines()))
        for path in out.glob("cells/*/journal.jsonl")
    }


def _identified(lines: list[str]) -> Iterator[str]:
    """Reports as text, each trial's numbered."""
    counts = Counter[int]()
    for text in lines:
        try:
            line = json.loads(text)
        except ValueError:
            continue  # Just being written.
        if line["type"] == "reported":
            counts[line["trial"]] += 1
            yield f"{line['trial']} {counts[line['trial']]} {line['metrics']} {line['reported_s']}"


def check(out: Path, promised: Mapping[Path, set[str]], killed: Mapping[str, int]) -> Found:
    """Everything that the script's text promises."""
    run = read_run(out)
    problems: list[str] = []
    seconds: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    reports = restarted = 0
    now = journalled(out)
    for folder, lines in promised.items():
        if missing := lines - now.get(folder, set()):
            problems.append(f"{folder.name}: {len(missing)} reports are missing")
    for (strategy, seed), cell in run.cells.items():
        name = f"{strategy} seed {seed}"
        reports += len(cell.reports)
        restarted += (cell_folder(out, strategy, seed) / EARLIER).exists()
        for row in cell.record.ledger:
            seconds[row.kind] += row.device_seconds
        problems += [f"{name}: {problem}" for problem in _problems(cell)]
    missing_cells = len(run.study.strategies) * len(run.study.seeds) - len(run.cells)
    if missing_cells:
        problems.append(f"{missing_cells} cells are missing")
    return Found(killed, len(run.cells), reports, seconds, restarted, problems)


def _problems(cell: Cell) -> Iterator[str]:
    record = cell.record
    charged = sum(row.device_seconds for row in record.ledger)
    if abs(charged - record.held_device_seconds) > TOLERANCE * record.held_device_seconds:
        yield f"its ledger sums to {charged:.2f} of {record.held_device_seconds:.2f} device-seconds"
    by_trial = defaultdict[int, list[Report]](list)
    for report in cell.reports:
        by_trial[report.trial].append(report)
    for trial, reports in by_trial.items():
        epoch = 0
        for report in reports:
            due = 1 + (epoch if report.parent is None else report.parent.epoch)
            if report.epoch != due:
                yield f"trial {trial} reported epoch {report.epoch} in place of {due}"
            epoch = report.epoch
    for report, expected in _undisturbed(by_trial, record.seed):
        score = report.validation_score
        is_same = math.isnan(score) if math.isnan(expected) else math.isclose(score, expected)
        if not is_same:
            yield (
                f"trial {report.trial} epoch {report.epoch}: {score!r}, undisturbed {expected!r}"
            )


def _undisturbed(by_trial: Mapping[int, list[Report]], seed: int) -> Iterator[tuple[Report, float]]:
    """Each report, and the score that its trial has when nobody kills anything. States are
    followed through exploits, which the reports name."""
    states: dict[tuple[int, int], object] = {}
    everything = sorted((r for rs in by_trial.values() for r in rs), key=lambda r: r.reported_s)
    for report in everything:
        session = QuadraticSession(0)
        session.start(report.config, seed)
        origin = report.parent
        came_from = (origin.trial, origin.epoch) if origin else (report.trial, report.epoch - 1)
        if came_from in states:
            session.load(states[came_from])  # type: ignore[arg-type]
        session.train_epoch()
        scores = session.evaluate()
        states[report.trial, report.epoch] = session.state()
        yield report, scores["validation_loss"]
