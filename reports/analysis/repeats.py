"""Seeds that by mistake give the same results: they are one observation, not several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reports.run import Cell, CellKey, Run

MIN_REPORTS = 3
"""Fewer may be alike by chance, where a score has few values."""


def without_repeats(run: Run) -> Run:
    """The run without cells that repeat one of the same strategy with an earlier seed, report by
    report (times apart): they become problems. An interval over seeds would take them for
    independent, and be too narrow."""
    repeats = dict(_repeats(run))
    if not repeats:
        return run
    problems = {
        (strategy, seed): f"has the very results of seed {first}, report by report, and so is no "
        "observation of its own: does the seed reach the searcher and the training?"
        for (strategy, seed), first in repeats.items()
    }
    cells = {key: cell for key, cell in run.cells.items() if key not in repeats}
    return replace(run, cells=cells, problems=run.problems | problems)


def _repeats(run: Run) -> Iterator[tuple[CellKey, int]]:
    """Each such cell, and the seed that it repeats."""
    seen: dict[tuple[str, object], list[tuple[int, Cell]]] = {}
    for (strategy, seed), cell in run.cells.items():
        if len(cell.reports) < MIN_REPORTS:
            continue
        # Most cells differ here already; the whole of them is only looked at where they do not.
        earlier = seen.setdefault((strategy, repr(_results(cell, MIN_REPORTS))), [])
        own = _results(cell)
        first = next((s for s, other in earlier if repr(_results(other)) == repr(own)), None)
        if first is None:
            earlier.append((seed, cell))
        else:
            yield (strategy, seed), first


def _results(cell: Cell, count: int | None = None) -> list[tuple[object, ...]]:
    return [
        (report.trial, report.epoch, report.config, report.validation_score, report.test_score)
        for report in cell.reports[:count]
    ]
