"""Reading a run folder; the format is in :mod:`harness.contract.records`."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from harness.contract import UsageError
from harness.contract.records import (
    FORMAT_VERSION,
    CellRecord,
    EventLine,
    Incumbent,
    Record,
    Report,
    RetrainRecord,
    StudyRecord,
    TrialEnd,
)
from reports.columns import ReportColumns, StoredReports
from reports.run import Cell, CellKey, Run
from reports.stored_file import UnreadableError as UnreadableError
from reports.stored_file import read_stored_file

STUDY_FILE, CELLS_FOLDER, CELL_FILE, EVENTS_FILE, RETRAINED_FILE = (
    "study.json", "cells", "cell.json", "events.jsonl", "retrained.json",
)  # fmt: skip
REPORT_FILE, RESULTS_FILE, SUMMARY_FILE = "report.html", "results.parquet", "summary.json"
"""Made from the rest, as often as one likes."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.")
_MAX_SLUG = 200

# What a stranger's run may be at most, so that a report on it ends. Twenty times the largest that
# was ever made.
_MAX_CELLS = 20_000
_MAX_STUDY_BYTES = 16 * 2**20
_MAX_CELL_BYTES = 256 * 2**20
_MAX_EVENTS_BYTES = 4 * 2**30
"""Of all cells together."""
_MAX_PARAMETERS, _MAX_CONFIG_VALUES = 5000, 200_000_000
"""Different ones in all configurations; and times the reports: what a table of them would hold."""

AnyRecord = TypeVar("AnyRecord", bound=Record)


def cell_slug(strategy: str, seed: int) -> str:
    """The name of a cell's folder: ``("random/asha", 3)`` → ``random-asha--seed-3``.

    No two cells share one, also where the file system ignores case: ``/`` becomes ``-``, and all
    but lower-case letters, digits, ``_`` and (not in front) ``.`` becomes ``~`` and the hex of its
    UTF-8 bytes. A name too long for a file system ends in ``~~`` and its hash.
    """
    slug = "".join(_safe(character, first=i == 0) for i, character in enumerate(strategy))
    if len(slug) > _MAX_SLUG:
        digest = hashlib.sha256(strategy.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        slug = f"{slug[: _MAX_SLUG // 2]}~~{digest}"
    return f"{slug}--seed-{seed}"


def _safe(character: str, first: bool) -> str:
    if character == "/":
        return "-"
    if character in _PLAIN and not (first and character == "."):
        return character
    return "".join(f"~{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def cell_folder(run: Path, strategy: str, seed: int) -> Path:
    return run / CELLS_FOLDER / cell_slug(strategy, seed)


def read_run(run: Path) -> Run:
    """Read all there is of a run; a cell that is missing or damaged becomes a problem, no error.

    Raises:
        UsageError: ``run`` is no run folder, or its ``study.json`` cannot be read.
    """
    study = read_study(run)
    _refuse_too_many(run, study)
    cells: dict[CellKey, Cell] = {}
    problems: dict[CellKey, str] = {}
    for strategy in study.strategies:
        for seed in study.seeds:
            key = strategy.name, seed
            try:
                cell = read_cell(cell_folder(run, *key))
            except UnreadableError as error:
                problems[key] = str(error)
                continue
            found = cell.record.strategy, cell.record.seed
            if found == key:
                cells[key] = cell
            else:
                problems[key] = f"its folder holds another cell: {found[0]}, seed {found[1]}"
    parameters = {name for c in cells.values() for config in c.columns.configs for name in config}
    values = len(parameters) * sum(len(cell.reports) for cell in cells.values())
    if len(parameters) > _MAX_PARAMETERS or values > _MAX_CONFIG_VALUES:
        raise UsageError(
            f"{run} names {len(parameters):,} different parameters, more than a report can show"
        )
    return Run(run, study, cells, problems)


def _refuse_too_many(run: Path, study: StudyRecord) -> None:
    cells = len(study.strategies) * len(study.seeds)
    if cells > _MAX_CELLS:
        raise UsageError(f"{run} has {cells:,} cells, more than a report can show ({_MAX_CELLS:,})")
    size = 0
    for strategy in study.strategies:
        for seed in study.seeds:
            for name in (EVENTS_FILE, CELL_FILE):
                # Those that are not there, or cannot be asked, are another's problem.
                with contextlib.suppress(OSError):
                    size += (cell_folder(run, strategy.name, seed) / name).stat().st_size
    if size > _MAX_EVENTS_BYTES:
        raise UsageError(
            f"the cells of {run} hold {size / 2**30:,.1f} GiB, more than a report can show "
            f"({_MAX_EVENTS_BYTES / 2**30:g} GiB)"
        )


def read_study(run: Path) -> StudyRecord:
    """Read ``study.json``. Raises :class:`UsageError` where ``run`` is not a run folder."""
    if not run.is_dir():
        raise UsageError(
            f"{run} is not a folder; give the run folder that `python -m harness run` printed"
        )
    if not (run / STUDY_FILE).is_file():
        raise UsageError(
            f"{run} is not a run folder: it has no {STUDY_FILE}; "
            "give the folder that `python -m harness run` printed, e.g. runs/NAME"
        )
    path = run / STUDY_FILE
    if path.stat().st_size == 0:
        raise UnreadableError(
            f"{path} is empty, as a crash may leave a file: put a copy of it back, or run the "
            "study again into a new folder"
        )
    return _read_record(path, run, _MAX_STUDY_BYTES, StudyRecord, str(path))


def read_cell(folder: Path) -> Cell:
    """Read one finished cell. Raises :class:`UnreadableError` with the reason."""
    record, content = _read_verified(folder)
    lines: list[bytes] = []
    ends: list[TrialEnd] = []
    columns = ReportColumns.of(_reports(content, lines, ends))
    reports = StoredReports(columns, b"\n".join(lines))
    retrained = read_retrained(folder, record.incumbent)
    if isinstance(retrained, str):
        return Cell(record, reports, tuple(ends), not_retrained=retrained)
    return Cell(record, reports, tuple(ends), retrained)


def _reports(content: bytes, lines: list[bytes], ends: list[TrialEnd]) -> Iterator[Report]:
    """The reports among events; their lines, and the ends, are put into the lists."""
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            event = EventLine.validate_json(line)
        except ValidationError as error:
            raise UnreadableError(
                f"line {number} of {EVENTS_FILE} is not valid: {_first_mistake(error)}"
            ) from None
        if isinstance(event, Report):
            lines.append(line)
            yield event
        else:
            ends.append(event)


def read_retrained(folder: Path, incumbent: Incumbent | None) -> RetrainRecord | str:
    """The retrainings of a cell's incumbent, or why there are none."""
    if not (folder / RETRAINED_FILE).exists():
        return f"there is no {RETRAINED_FILE}"
    try:
        record = _read_record(
            folder / RETRAINED_FILE,
            _run_of(folder),
            _MAX_STUDY_BYTES,
            RetrainRecord,
            RETRAINED_FILE,
        )
    except UnreadableError as error:
        return str(error)
    if incumbent is None or (record.trial, record.epoch) != (incumbent.trial, incumbent.epoch):
        found = f"trial {record.trial}, epoch {record.epoch}"
        return f"{RETRAINED_FILE} is of another incumbent: {found}"
    return record


def verify_cell(folder: Path) -> CellRecord | str:
    """The cell's record if the cell is finished and undamaged, otherwise the reason it is not.

    Judged by content: ``cell.json`` is valid and of this format version, and the number of lines
    and the SHA-256 of ``events.jsonl`` are the ones it names.
    """
    try:
        return _read_verified(folder)[0]
    except UnreadableError as error:
        return str(error)


def _read_verified(folder: Path) -> tuple[CellRecord, bytes]:
    try:
        if not folder.is_dir():
            raise UnreadableError("not run: it has no folder")
        if not (folder / CELL_FILE).exists():
            raise UnreadableError(f"not finished: its folder has no {CELL_FILE}")
    except OSError as error:
        raise UnreadableError(f"its folder cannot be read: {error.strerror}") from None
    run = _run_of(folder)
    record = _read_record(folder / CELL_FILE, run, _MAX_CELL_BYTES, CellRecord, CELL_FILE)
    content = read_stored_file(folder / EVENTS_FILE, run, _MAX_EVENTS_BYTES, EVENTS_FILE)
    lines = content.count(b"\n")
    if content and not content.endswith(b"\n"):
        raise UnreadableError(f"{EVENTS_FILE} is truncated in line {lines + 1}")
    if lines != record.events:
        raise UnreadableError(
            f"{EVENTS_FILE} has {lines} lines where {CELL_FILE} names {record.events}"
        )
    if hashlib.sha256(content).hexdigest() != record.events_sha256:
        raise UnreadableError(f"{EVENTS_FILE} was changed: its SHA-256 is not {CELL_FILE}'s")
    return record, content


def _run_of(cell: Path) -> Path:
    """The run folder of a cell's: see :func:`cell_folder`."""
    return cell.parent.parent


def _read_record(
    path: Path, root: Path, most_bytes: int, model: type[AnyRecord], name: str
) -> AnyRecord:
    """``name`` is what messages call the file; ``root``: see :func:`read_stored_file`."""
    content = read_stored_file(path, root, most_bytes, name)
    if not content.strip():
        raise UnreadableError(f"{name} is empty")
    try:
        fields = from_json(content)
    except ValueError as error:
        raise UnreadableError(f"{name} is damaged: not valid JSON ({error})") from None
    if not isinstance(fields, dict):
        raise UnreadableError(f"{name} is damaged: a JSON {type(fields).__name__}, not an object")
    _check_version(name, fields)
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise UnreadableError(f"{name} is damaged: {_first_mistake(error)}") from None


def _check_version(name: str, fields: dict[str, object]) -> None:
    version = fields.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int):
        raise UnreadableError(
            f"{name} has no format_version, so no harness run wrote it; "
            "give a run folder, or run the study again with `python -m harness run`"
        )
    if version > FORMAT_VERSION:
        raise UnreadableError(
            f"{name} has format version {version}, newer than this harness reads "
            f"({FORMAT_VERSION}): update it with `pip install --upgrade tune-bench-harness`"
        )
    if version < FORMAT_VERSION:
        raise UnreadableError(
            f"{name} has format version {version}, older than this harness reads "
            f"({FORMAT_VERSION}): report with the harness version that wrote it, "
            "or run the study again into a new folder"
        )


def _first_mistake(error: ValidationError) -> str:
    mistake = error.errors()[0]
    field = ".".join(str(part) for part in mistake["loc"])
    return f"{field}: {mistake['msg']}" if field else mistake["msg"]
