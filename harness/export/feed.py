"""Reads a run folder that may still be growing, as tracked runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from harness.contract.records import CellRecord, EventLine, StrategyRecord
from harness.export.tracked import RunEnd, TrackedCell, TrackedRun, track_study
from reports.store import (
    CELL_FILE,
    EVENTS_FILE,
    REPORT_FILE,
    RESULTS_FILE,
    SUMMARY_FILE,
    UnreadableError,
    cell_folder,
    read_study,
    verify_cell,
)


class Feed:
    """What is new in a run folder since the last look, for a tracker that may fail in between.

    Whatever changed waits in ``pending`` until it is ``taken``; runs that have ended and were taken
    are forgotten, so that a long study needs no more memory than what is under way.

    Raises:
        UsageError: not a run folder, or one that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.study = read_study(folder)
        self.root = track_study(self.study, folder.resolve().name)
        self._folder = folder
        self._cells = [
            _GrowingCell(self, strategy, seed)
            for seed in self.study.seeds
            for strategy in self.study.strategies
        ]
        self._pending: dict[str, TrackedRun] = {self.root.key: self.root}

    def look(self) -> None:
        """Read what was written since the last look."""
        for cell in self._cells:
            for run in cell.read():
                self._pending[run.key] = run

    def finish(self) -> None:
        """Nothing will be written any more: end what is under way, and add the report's files."""
        for cell in self._cells:
            for run in cell.interrupted():
                self._pending[run.key] = run
        self.root.files = [
            path
            for name in (REPORT_FILE, SUMMARY_FILE, RESULTS_FILE)
            if (path := self._folder / name).is_file() and not path.is_symlink()
        ]
        missing = sum(not cell.is_done for cell in self._cells)
        if missing:
            self.root.interrupt()
        else:
            last_s = max((cell.ended_at_s for cell in self._cells), default=self.root.started_at_s)
            self.root.end = RunEnd("completed", "finished", None, last_s, {})
        self._pending[self.root.key] = self.root

    def pending(self) -> Iterator[TrackedRun]:
        """What a tracker has not taken yet, parents before children."""
        return iter(list(self._pending.values()))

    def taken(self, run: TrackedRun) -> None:
        del self._pending[run.key]

    @property
    def is_empty(self) -> bool:
        return not self._pending

    def folder_of(self, strategy: str, seed: int) -> Path:
        return cell_folder(self._folder, strategy, seed)


class _GrowingCell:
    """One cell's files, read line by line."""

    def __init__(self, feed: Feed, strategy: StrategyRecord, seed: int) -> None:
        self._feed, self._strategy, self._seed = feed, strategy, seed
        self._folder = feed.folder_of(strategy.name, seed)
        self._cell: TrackedCell | None = None
        self._first = b""
        self._offset = 0
        self.is_done = False
        self.ended_at_s = 0.0

    def read(self) -> Iterator[TrackedRun]:
        """The cell and those of its trials that changed."""
        if self.is_done:
            return
        # Looked for first: what it stands for was written before it.
        has_record = (self._folder / CELL_FILE).exists()
        yield from self._read_events()
        if has_record:
            yield from self._end()

    def interrupted(self) -> Iterator[TrackedRun]:
        """What is under way in a cell that has not ended, ended for now."""
        if self._cell is None or self.is_done:
            return
        for run in (*self._cell.under_way(), self._cell.run):
            run.interrupt()
            yield run

    def _read_events(self) -> Iterator[TrackedRun]:
        try:
            events = (self._folder / EVENTS_FILE).open("rb")
        except FileNotFoundError:
            return
        with events:
            first = events.readline()
            if not first.endswith(b"\n"):
                return
            if first != self._first:
                yield from self._begin(first)
            events.seek(self._offset)
            for line in events:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                yield self._take(line)

    def _begin(self, first: bytes) -> Iterator[TrackedRun]:
        """The cell is there, or it was begun anew."""
        yield from self.interrupted()
        self._first, self._offset = first, 0
        self._cell = TrackedCell(
            self._feed.study, self._feed.root, self._strategy, self._seed, first
        )
        yield self._cell.run

    def _take(self, line: bytes) -> TrackedRun:
        assert self._cell is not None
        try:
            return self._cell.add(EventLine.validate_json(line))
        except ValidationError as error:
            raise UnreadableError(
                f"{self._folder / EVENTS_FILE} holds a line that is not valid, before byte "
                f"{self._offset}: {error.errors()[0]['msg']}"
            ) from None

    def _end(self) -> Iterator[TrackedRun]:
        record = verify_cell(self._folder)
        if self._cell is None or not isinstance(record, CellRecord):
            return
        self._cell.finish(record)
        self.is_done = True
        end = self._cell.run.end
        assert end is not None
        self.ended_at_s = end.at_s
        yield self._cell.run
        self._cell = None
