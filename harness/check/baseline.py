"""The file to commit: per strategy and seed the numbers that a check compares, and their origin."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Final, Literal

import pandas as pd
from pydantic import AfterValidator, FiniteFloat, ValidationError
from pydantic_core import from_json

from benchmarks.noise import without_last_digits
from harness.contract import UsageError
from harness.contract.files import write_atomically
from harness.contract.records import CellStatus, Record, Report, StudyRecord
from reports.analysis import Analysis
from reports.analysis.frames import records
from reports.run import Cell, Run
from reports.stored_file import read_stored_file

BASELINE_FORMAT_VERSION: Final = 1
MAX_BASELINE_BYTES = 256 * 2**20
DIGEST_BYTES = 3
"""Of a trial's decisions: enough to find the first trial that differs, small enough to commit."""


def _base64(text: str) -> str:
    base64.b64decode(text, validate=True)
    return text


class CellNumbers(Record):
    """One cell. Measures are by the names of :mod:`harness.check.measures`; ``None``: it has none.

    ``target_seconds``: device-seconds held when each of the benchmark's targets was reached
    (``None``: never). ``events_sha256``: of everything that happened; ``trials``: a digest per
    trial of what was decided (configurations, epochs, decisions; no times, no scores), base64.
    """

    status: CellStatus | Literal["missing"]
    reason: str
    best_score: FiniteFloat | None
    target_seconds: list[FiniteFloat | None]
    epoch_seconds: FiniteFloat | None
    epoch_savings: FiniteFloat | None
    useful_share: FiniteFloat | None
    searcher_seconds: FiniteFloat | None
    events_sha256: str | None
    trials: Annotated[str, AfterValidator(_base64)]


class Baseline(Record):
    """``margins``: as ``--fail-on`` takes them, for checks that say nothing else; ``cells``:
    strategy → seed (as a string, for JSON) → numbers."""

    format_version: Literal[1] = BASELINE_FORMAT_VERSION
    study: StudyRecord
    metric: str
    margins: list[str]
    cells: dict[str, dict[str, CellNumbers]]


def make_baseline(analysis: Analysis, margins: Sequence[str] = ()) -> Baseline:
    """What a run's analysis says, as a baseline."""
    run = analysis.run
    benchmark = run.study.benchmark
    finals = {(row["strategy"], row["seed"]): row for row in records(analysis.finals)}
    times = analysis.target_times
    cells: dict[str, dict[str, CellNumbers]] = {s.name: {} for s in run.study.strategies}
    for strategy, seed in run.keys:
        cell = run.cells.get((strategy, seed))
        final = finals.get((strategy, seed))
        own = times[(times["strategy"] == strategy) & (times["seed"] == seed)]
        cells[strategy][str(seed)] = (
            _missing(run.problems[strategy, seed])
            if cell is None
            else _numbers(analysis, cell, final, own)
        )
    metric = benchmark.test_metric if analysis.by_test else benchmark.metric
    return Baseline(
        study=run.study, metric=metric or benchmark.metric, margins=list(margins), cells=cells
    )


def with_cells(baseline: Baseline, more: Baseline) -> Baseline:
    """The same, with the cells of another run of its question beside its own."""
    names = {**baseline.cells, **more.cells}
    cells = {name: {**baseline.cells.get(name, {}), **more.cells.get(name, {})} for name in names}
    return baseline.model_copy(update={"cells": cells})


def _numbers(
    analysis: Analysis, cell: Cell, final: Mapping[str, float] | None, times: pd.DataFrame
) -> CellNumbers:
    record = cell.record
    summary = analysis.summary.strategies[record.strategy][str(record.seed)]
    score = None
    if final is not None:
        score = _finite(final["test_score" if analysis.by_test else "validation_score"])
    return CellNumbers(
        status=record.status,
        reason=record.reason,
        best_score=score,
        target_seconds=[_finite(seconds) for seconds in times["held_device_seconds"]],
        epoch_seconds=_first_epoch_seconds(cell.reports),
        epoch_savings=summary.epoch_savings,
        useful_share=summary.useful_share,
        searcher_seconds=record.searcher_seconds,
        events_sha256=record.events_sha256,
        trials=_trial_digests(cell.reports),
    )


def _first_epoch_seconds(reports: Sequence[Report]) -> float | None:
    """Mean seconds of training and evaluation in the first epochs of the trials that began before
    anything was reported: those that no strategy has chosen yet, so that it is the training's speed
    and nothing of the search's."""
    if not reports:
        return None
    first = min(report.reported_s for report in reports)
    seconds = [
        sum(span.seconds for span in report.spans if span.kind in ("train", "evaluate"))
        for report in reports
        if report.epoch == 1 and report.attempt == 0 and report.started_s < first
    ]
    return _finite(fmean(seconds)) if seconds else None


def _missing(reason: str) -> CellNumbers:
    return CellNumbers(
        status="missing", reason=reason, best_score=None, target_seconds=[], epoch_seconds=None,
        epoch_savings=None, useful_share=None, searcher_seconds=None, events_sha256=None, trials="",
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _trial_digests(reports: Sequence[Report]) -> str:
    decisions: dict[int, list[object]] = {}
    for report in reports:
        config = {name: without_last_digits(value) for name, value in report.config.items()}
        decisions.setdefault(report.trial, []).append([config, report.epoch, report.decision])
    digests = b"".join(
        hashlib.sha256(json.dumps(decisions[trial], sort_keys=True).encode()).digest()[
            :DIGEST_BYTES
        ]
        for trial in sorted(decisions)
    )
    return base64.b64encode(digests).decode()


def first_difference(one: CellNumbers, other: CellNumbers) -> int | None:
    """The first trial (as counted among those that reported) that was decided otherwise."""
    a, b = (base64.b64decode(cell.trials) for cell in (one, other))
    for start in range(0, max(len(a), len(b)), DIGEST_BYTES):
        if a[start : start + DIGEST_BYTES] != b[start : start + DIGEST_BYTES]:
            return start // DIGEST_BYTES
    return None


def write_baseline(baseline: Baseline, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, baseline.model_dump_json(indent=1) + "\n")


MAKE = "`python -m harness baseline RUN --out FILE`"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        UsageError: no such file, not a baseline, cut off, of another format version, or a value
            that makes no sense; the message says which and what to do.
    """
    if not path.exists():
        raise UsageError(f"there is no baseline {path}; make one with {MAKE}")
    content = read_stored_file(
        path, path.resolve().parent, MAX_BASELINE_BYTES, f"the baseline {path}"
    )
    try:
        fields = from_json(content)
        version = fields["format_version"]
    except ValueError:
        raise UsageError(
            f"the baseline {path} is damaged (not whole JSON): restore it from version control, or "
            f"make it again with {MAKE}"
        ) from None
    except (KeyError, TypeError):
        raise UsageError(f"{path} is no baseline; make one with {MAKE}") from None
    if version != BASELINE_FORMAT_VERSION:
        raise IncomparableError(
            f"the baseline {path} has format version {version!r}; this harness reads version "
            f"{BASELINE_FORMAT_VERSION}: use the harness that wrote it, or make it again with "
            f"{MAKE}"
        )
    try:
        return Baseline.model_validate_json(content)
    except ValidationError as error:
        mistake = error.errors()[0]
        where = ".".join(map(str, mistake["loc"]))
        raise UsageError(
            f"the baseline {path} is damaged: {where}: {mistake['msg']}; restore it, or make it "
            f"again with {MAKE}"
        ) from None


class IncomparableError(UsageError):
    """The two have different questions: no answer can be had."""

    exit_code = 4


def refuse_unfinished(run: Run) -> None:
    """Raises :class:`UsageError` where cells are missing."""
    if run.problems:
        (strategy, seed), reason = next(iter(run.problems.items()))
        raise UsageError(
            f"{run.path} is not finished, or still going: {len(run.problems)} of {len(run.keys)} "
            f"cells are missing, first {strategy}, seed {seed} ({reason}); wait for it, or go on "
            f"with it by\n  {run.study.command}"
        )


def refuse_unfit(run: Run) -> None:
    """Raises :class:`UsageError` where a run is no measure for later ones: cells are missing or
    failed."""
    refuse_unfinished(run)
    failed = {key: c.record.reason for key, c in run.cells.items() if c.record.status == "failed"}
    if failed:
        (strategy, seed), reason = next(iter(failed.items()))
        raise UsageError(
            f"{run.path} is no baseline: {len(failed)} cell(s) failed, first {strategy}, seed "
            f"{seed}: {reason}; mend what failed, or leave the strategy out, and run it again"
        )
