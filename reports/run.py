"""A run as it was read from its folder: plain data, no files behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.contract.records import CellRecord, Report, RetrainRecord, StudyRecord, TrialEnd
from reports.columns import ReportColumns, StoredReports

CellKey = tuple[str, int]
"""(strategy, seed)"""


@dataclass(frozen=True)
class Cell:
    """One finished cell; its events in the order in which they were written.

    ``retrained``: its incumbent's retrainings, or ``None`` and why there are none.
    """

    record: CellRecord
    reports: Sequence[Report]
    ends: tuple[TrialEnd, ...]
    retrained: RetrainRecord | None = None
    not_retrained: str | None = None

    @cached_property
    def columns(self) -> ReportColumns:
        """The reports again: to be preferred where many cells are gone through."""
        if isinstance(self.reports, StoredReports):
            return self.reports.columns
        return ReportColumns.of(self.reports)


@dataclass(frozen=True)
class Run:
    """A study and what there is of its cells.

    Every cell of the study is either in ``cells`` or, with the reason, in ``problems``.
    """

    path: Path
    study: StudyRecord
    cells: dict[CellKey, Cell]
    problems: dict[CellKey, str]

    @property
    def keys(self) -> list[CellKey]:
        """Every cell that the study asked for, in the study's order."""
        return [(s.name, seed) for s in self.study.strategies for seed in self.study.seeds]

    @property
    def not_retrained(self) -> dict[CellKey, str]:
        """Cells whose incumbent was to be trained again and has no record of it, and why."""
        was_asked = bool(self.study.study.get("retrain"))
        if not (was_asked or any(cell.retrained for cell in self.cells.values())):
            return {}
        return {
            key: cell.not_retrained
            for key, cell in self.cells.items()
            if cell.not_retrained is not None and cell.record.incumbent is not None
        }
