"""What there is to retrain: which incumbents, along which configurations, with which seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.contract.records import Incumbent, Report
from harness.decided import DecidedStudy
from harness.retraining.file import RetrainedFile
from harness.retraining.job import RetrainJob
from harness.retraining.seeds import FreshSeeds
from harness.store import RunStore
from reports.store import UnreadableError, cell_folder, read_cell


@dataclass(frozen=True)
class RetrainPlan:
    """``files``: by a cell's index in the study, of those that have an incumbent. ``jobs``: what is
    not there yet. ``problems``: why a cell's incumbent cannot be trained again."""

    files: dict[int, RetrainedFile]
    jobs: list[RetrainJob]
    problems: dict[int, str]


def plan_retraining(study: DecidedStudy, store: RunStore) -> RetrainPlan:
    """Seed by seed, so that an interrupted study has every cell for the seeds it did."""
    fresh = FreshSeeds(study.config.seeds)
    seeds = fresh.first(study.config.retrain)
    plan = RetrainPlan({}, [], {})
    for index, cell in enumerate(study.cells):
        record = store.finished(*cell)
        if isinstance(record, str) or record.incumbent is None:
            continue
        folder = cell_folder(store.folder, *cell)
        file = RetrainedFile(folder, record.incumbent, fresh)
        missing = [seed for seed in seeds if seed not in file]
        path = _read_path(folder, record.incumbent) if missing else []
        if isinstance(path, str):
            plan.problems[index] = path
            continue
        plan.files[index] = file
        plan.jobs.extend(
            RetrainJob(
                cell=index,
                configs=[report.config for report in path],
                seed=seed,
                epoch_seconds=max(report.reported_s - report.started_s for report in path),
            )
            for seed in missing
        )
    plan.jobs.sort(key=lambda job: (fresh.place(job.seed), job.cell))
    return plan


def incumbent_path(reports: Iterable[Report], incumbent: Incumbent) -> list[Report]:
    """The epochs that the incumbent's weights went through. Raises KeyError: one is not there."""
    # Late, as its package takes seconds to import.
    from reports.analysis.lineage import lineage

    # Its trial may have gone back, and have trained the incumbent's epoch once more.
    until_then = [report for report in reports if report.reported_s <= incumbent.reported_s]
    return lineage(until_then, incumbent.trial, incumbent.epoch)


def _read_path(folder: Path, incumbent: Incumbent) -> list[Report] | str:
    try:
        return incumbent_path(read_cell(folder).reports, incumbent)
    except UnreadableError as error:
        return str(error)
    except KeyError:
        return "an epoch on the way to its incumbent was never reported"
