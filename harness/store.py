"""The writing side of a run folder: its lock, its study record, and a clean folder per cell."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.contract import UsageError
from harness.contract.files import write_atomically
from harness.contract.records import CellRecord, StudyRecord
from harness.study import StudyConfig
from reports.store import CELL_FILE, STUDY_FILE, cell_folder, read_study, verify_cell

LOCK_FILE, LOG_FILE, EARLIER = ".lock", "run.log", "earlier"

CHANGING = frozenset(
    {
        "created_at", "command", "git_commit", "git_dirty", "machine", "left_out", "goal",
        "decisions",
    }
)  # fmt: skip
"""Fields of a study record that may differ between a run and its resumption."""

UNSTATED = frozenset(
    {
        "address", "storage", "data_dir", "out", "costs", "targets", "retrain", "max_hours",
        "max_disk_gb", "min_free_disk_gb",
    }
)  # fmt: skip
"""Fields of a study's configuration that say where, for how long, what to look for in its report,
or what comes after the cells: not what the cells are."""


class RunStore:
    """One run folder, locked for this process while open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock.

        Raises:
            UsageError: the folder cannot be written, or another process holds the lock.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / LOCK_FILE).open("a+")
        except OSError as error:
            raise UsageError(
                f"--out {self.folder} cannot be written: {error.strerror}; give another folder"
            ) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                raise UsageError(
                    f"--out {self.folder} is in use by another run (process {holder}): "
                    "wait for it, or give another --out"
                ) from None
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def with_what_was_told(self, config: StudyConfig) -> StudyConfig:
        """What is asked for; of goal, decisions and targets, which change no cell, those that an
        earlier run of the folder was told, where this one says nothing.

        Raises:
            UsageError: the folder's study cannot be read.
        """
        if not (self.folder / STUDY_FILE).exists():
            return config
        before = read_study(self.folder)
        told = {
            "goal": before.goal,
            "decisions": before.decisions,
            "targets": before.study.get("targets"),
        }
        kept = {name: value for name, value in told.items() if value and not getattr(config, name)}
        return config.model_copy(update=kept)

    def begin(self, study: StudyRecord) -> bool:
        """Write the study's record, or check it against the one that is there (``True``: resumed).

        A record that is there is kept, but for goal, decisions and targets, and then the command.

        Raises:
            UsageError: the folder holds a study with another configuration, or other files.
        """
        if (self.folder / STUDY_FILE).exists():
            before = read_study(self.folder)
            differences = list(_differences(_comparable(before), _comparable(study)))
            if differences:
                listed = "\n".join(f"  {line}" for line in differences)
                raise UsageError(
                    f"--out {self.folder} holds a study with another configuration "
                    f"(there → now):\n{listed}\nGive another --out, or run the same study:\n"
                    f"  {before.command}"
                )
            retold = _retold(before, study)
            if retold != before:
                self._write(retold.model_copy(update={"command": study.command}))
            return True
        others = sorted(
            p.name for p in self.folder.iterdir() if p.name not in (LOCK_FILE, "run.log")
        )
        if others:
            raise UsageError(
                f"--out {self.folder} is not empty and not a run folder (it holds {others[0]}): "
                "give a new or an empty folder"
            )
        self._write(study)
        return False

    def finished(self, strategy: str, seed: int) -> CellRecord | str:
        """The record of a cell that needs no more work, or why it has to be run."""
        record = verify_cell(cell_folder(self.folder, strategy, seed))
        if isinstance(record, str) or record.status == "completed":
            return record
        return f"failed before: {record.reason}"

    def cell(self, strategy: str, seed: int) -> Path:
        """A cell's folder, whatever is in it."""
        return cell_folder(self.folder, strategy, seed)

    def why_again(self, strategy: str, seed: int) -> str | None:
        """Why a cell that had come to its end is run again; ``None`` if it is not, or had not."""
        found = self.finished(strategy, seed)
        had_ended = (cell_folder(self.folder, strategy, seed) / CELL_FILE).exists()
        return found if had_ended and isinstance(found, str) else None

    def fresh_cell(self, strategy: str, seed: int) -> Path:
        """An empty folder for a cell; what an earlier try left is kept aside in ``earlier/N``."""
        folder = self.cell(strategy, seed)
        folder.mkdir(parents=True, exist_ok=True)
        left = [path for path in folder.iterdir() if path.name != EARLIER]
        if left:
            tries = (path.name for path in folder.glob(f"{EARLIER}/*"))
            last = max((int(name) for name in tries if name.isdecimal()), default=0)
            aside = folder / EARLIER / str(last + 1)
            aside.mkdir(parents=True)
            for path in left:
                path.rename(aside / path.name)
        return folder

    def _write(self, study: StudyRecord) -> None:
        write_atomically(self.folder / STUDY_FILE, study.model_dump_json(indent=2) + "\n")


def _retold(before: StudyRecord, now: StudyRecord) -> StudyRecord:
    """The record that is there, with the goal, decisions and targets of now."""
    targets = now.benchmark.targets
    if targets != before.benchmark.targets:
        benchmark = before.benchmark.model_copy(update={"targets": targets})
        study = {**before.study, "targets": now.study.get("targets")}
        before = before.model_copy(update={"benchmark": benchmark, "study": study})
    return before.model_copy(update={"goal": now.goal, "decisions": now.decisions})


def _comparable(study: StudyRecord) -> dict[str, Any]:
    record = study.model_dump(mode="json", exclude=set(CHANGING))
    del record["benchmark"]["targets"]
    asked = record.pop("study")
    record["study"] = {key: value for key, value in asked.items() if key not in UNSTATED}
    return record


def _differences(before: Any, now: Any, path: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from _differences(before.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif before != now:
        yield f"{path}: {before!r} → {now!r}"
