"""From several run folders to studies: runs that asked the same question are one study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from harness.contract.records import StrategyRecord, StudyRecord
from reports.run import Cell, CellKey, Run
from reports.units import NOTHING


@dataclass(frozen=True)
class StudyGroup:
    """One study of the report.

    ``run`` is all its runs together; ``folders`` says where each cell is from; ``remarks`` are what
    a reader must know about the putting together.
    """

    run: Run
    sources: tuple[Run, ...]
    folders: dict[CellKey, Path]
    remarks: tuple[str, ...]


def group_runs(runs: Sequence[Run]) -> list[StudyGroup]:
    """Put runs together that have the same benchmark, budget, devices, executor and costs, in the
    order given; the others stay studies of their own."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(repr(question(run.study)), []).append(run)
    return [_together(group) for group in groups.values()]


def question(study: StudyRecord) -> dict[str, Any]:
    """What must be the same for cells to be compared, by name, as plain data."""
    benchmark = study.benchmark.model_dump(
        mode="json", exclude={"dataset_source", "caveats", "targets"}
    )
    return {
        **study.model_dump(
            mode="json", include={"devices", "executor", "costs", "budget_device_seconds"}
        ),
        "charge_searcher": study.study.get("charge_searcher"),
        **{f"benchmark {name}": value for name, value in benchmark.items()},
    }


def _together(runs: Sequence[Run]) -> StudyGroup:
    first = runs[0]
    if len(runs) == 1:
        folders = dict.fromkeys(first.keys, first.path)
        return StudyGroup(first, (first,), folders, ())
    strategies: dict[str, StrategyRecord] = {}
    seeds: dict[int, None] = {}
    cells: dict[CellKey, Cell] = {}
    folders = {}
    problems: dict[CellKey, str] = {}
    remarks = []
    for run in runs:
        for strategy in run.study.strategies:
            known = strategies.setdefault(strategy.name, strategy)
            if known != strategy:
                remarks.append(
                    f"{strategy.name} is not described alike in all runs: {run.path} has "
                    f"{strategy.summary!r}, another {known.summary!r}."
                )
        seeds |= dict.fromkeys(run.study.seeds)
        for key, cell in run.cells.items():
            if key not in cells:
                cells[key], folders[key] = cell, run.path
            elif cells[key].record.events_sha256 != cell.record.events_sha256:
                remarks.append(
                    f"{key[0]}, seed {key[1]} is in {folders[key]} and, with other results, in "
                    f"{run.path}: the first counts."
                )
        problems = run.problems | problems
    study = first.study.model_copy(
        update={
            "strategies": list(strategies.values()),
            "seeds": sorted(seeds),
            "decisions": [line for run in runs for line in run.study.decisions],
        }
    )
    every = [(name, seed) for name in strategies for seed in study.seeds]
    problems = {key: problems.get(key, "no run has this cell") for key in every if key not in cells}
    folders |= dict.fromkeys(problems, first.path)
    merged = Run(first.path, study, {key: cells[key] for key in every if key in cells}, problems)
    return StudyGroup(merged, tuple(runs), folders, tuple(remarks))


def environment_differences(runs: Sequence[Run]) -> pd.DataFrame:
    """What differs between runs (by their folders) of what :func:`environments` tells; no row where
    all is the same."""
    return differing(environments({str(run.path): run.study for run in runs}))


def environments(studies: Mapping[str, StudyRecord]) -> pd.DataFrame:
    """Versions, machine, code and data: a row per field, a column per study, as text."""
    described = {name: _environment(study) for name, study in studies.items()}
    names = list(dict.fromkeys(name for fields in described.values() for name in fields))
    rows = {name: [fields.get(name, NOTHING) for fields in described.values()] for name in names}
    return pd.DataFrame.from_dict(rows, orient="index", columns=pd.Index(list(described)))


def differing(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of :func:`environments` in which not all studies have the same."""
    return table[table.nunique(axis=1) > 1]


def _environment(study: StudyRecord) -> dict[str, str]:
    fields: dict[str, Any] = {
        **study.versions,
        **{f"machine: {name}": value for name, value in study.machine.items()},
        "devices": f"{study.devices.model} × {study.devices.held:g}",
        "commit": study.git_commit,
        "uncommitted changes": study.git_dirty,
        "data": study.benchmark.dataset_source,
        "data SHA-256": study.benchmark.dataset_sha256,
        "executor": study.executor,
    }
    return {name: str(value) for name, value in fields.items()}
