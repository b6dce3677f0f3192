"""Everything that the page says of one study, ready for the templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from harness.contract.records import CellRecord, CellSummary, StudyRecord
from reports import units
from reports.analysis import Analysis
from reports.analysis.frames import records
from reports.figures.style import StrategyStyle
from reports.merge import StudyGroup
from reports.page.cell_figures import configurations_figure, schedule_figure, timeline_views
from reports.page.figure import PageFigure, csv_link
from reports.page.notes import caveats, method_notes, verdict_sentences
from reports.page.stopping_signs import stopping_signs
from reports.page.study_figures import (
    Subject,
    device_time_figure,
    effects_figure,
    optimism_figure,
    savings_figure,
    score_figures,
    target_figure,
)
from reports.run import Cell
from reports.store import cell_folder

LOG_FILE = "log.txt"


@dataclass(frozen=True)
class CellRow:
    """One cell; ``cell`` is ``None`` where it is missing, ``incumbent`` where it has none."""

    strategy: str
    seed: int
    summary: CellSummary
    cell: Cell | None
    incumbent: Mapping[str, Any] | None


@dataclass(frozen=True)
class Alike:
    """Cells of a strategy with the same settings: their seeds, and the first one's record."""

    seeds: list[int]
    record: CellRecord
    searcher_seconds: float


@dataclass(frozen=True)
class StudyPage:
    """``prefix`` begins every id; lists of dicts are the rows of the analysis' frames."""

    prefix: str
    group: StudyGroup
    analysis: Analysis
    unit: units.ComputeUnit
    order: list[str]
    verdict: list[str]
    caveats: list[str]
    notes: list[str]
    signs: list[str]
    score_views: list[tuple[str, PageFigure]]
    targets: PageFigure | None
    savings: PageFigure | None
    effects: PageFigure | None
    device_time: PageFigure | None
    timelines: list[tuple[str, PageFigure]]
    configurations: PageFigure | None
    schedule: PageFigure | None
    optimism: PageFigure | None
    cells: list[CellRow]

    @property
    def record(self) -> StudyRecord:
        return self.group.run.study

    @property
    def better(self) -> str:
        return "Higher" if self.record.benchmark.mode == "max" else "Lower"

    def rows(self, frame: str) -> list[dict[str, Any]]:
        """A frame of the analysis, by its name, as rows."""
        return records(getattr(self.analysis, frame))

    def targets_of(self, strategy: str) -> dict[float, dict[str, Any]]:
        """The rows of ``time_to_target``, by target."""
        return {
            row["target"]: row for row in self.rows("time_to_target") if row["strategy"] == strategy
        }

    def log_of(self, strategy: str, seed: int) -> Path:
        return cell_folder(self.group.folders[strategy, seed], strategy, seed) / LOG_FILE

    def settings_of(self, strategy: str) -> list[Alike]:
        """A strategy's settings, once for all seeds that share them."""
        groups: dict[str, list[CellRecord]] = {}
        for (name, _), cell in self.group.run.cells.items():
            if name == strategy:
                record = cell.record
                own = (record.rungs, record.settings, record.warnings, record.max_epochs)
                groups.setdefault(repr(own), []).append(record)
        return [
            Alike([r.seed for r in group], group[0], fmean(r.searcher_seconds for r in group))
            for group in groups.values()
        ]

    @property
    def pairs_csv(self) -> str:
        return csv_link(self.analysis.comparisons)

    def is_tie(self, strategy: str) -> bool:
        """Whether a strategy shares the first place, as far as can be told."""
        found = self.analysis.verdict
        return bool(found.ties) and strategy in (found.best, *found.ties)


def make_study_page(
    group: StudyGroup, analysis: Analysis, styles: Mapping[str, StrategyStyle], prefix: str
) -> StudyPage:
    """Draw a study's figures and put its sentences together."""
    run = analysis.run
    study = run.study
    unit = units.ComputeUnit.for_budget(study.devices.kind, study.budget_device_seconds)
    order = list(analysis.standings["strategy"])
    subject = Subject(analysis, unit, styles, order, prefix)
    finals = {(row["strategy"], row["seed"]): row for row in records(analysis.finals)}
    return StudyPage(
        prefix=prefix,
        group=group,
        analysis=analysis,
        unit=unit,
        order=order,
        verdict=verdict_sentences(analysis, unit),
        caveats=[*caveats(analysis, unit), *group.remarks],
        notes=method_notes(analysis),
        signs=stopping_signs(analysis),
        score_views=score_figures(subject),
        targets=target_figure(subject),
        savings=savings_figure(subject),
        effects=effects_figure(subject),
        device_time=device_time_figure(subject),
        timelines=timeline_views(subject),
        configurations=configurations_figure(subject),
        schedule=schedule_figure(subject),
        optimism=optimism_figure(subject),
        cells=[
            CellRow(
                name,
                seed,
                analysis.summary.strategies[name][str(seed)],
                run.cells.get((name, seed)),
                finals.get((name, seed)),
            )
            for name in order
            for seed in study.seeds
        ],
    )
