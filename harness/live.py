"""What the user sees while a study runs: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table

from harness.cell import CellProgress
from harness.clock import Clock
from harness.console import say
from harness.contract import DEVICE_NAMES
from harness.contract.records import CellRecord, DevicesRecord

LINE_PERIOD_S = 10.0
LEAST_SHARE = 0.01
"""With less of a study done, nothing can be said of the rest."""
ROWS_AROUND = 12
"""Cells shown at once: a long study shows those around the one that runs."""


@dataclass(frozen=True)
class Expected:
    """What is known before anything runs: cells side by side, and what one takes if that is known.

    ``cell_seconds`` is also how long a cell's budget lasts in real time, give or take its start.
    """

    cells_at_once: int
    cell_seconds: float | None


class Display(Protocol):
    """Follows a study. Cells are named by their index in the study."""

    def started(self, cell: int) -> None: ...
    def progress(self, cell: int, progress: CellProgress) -> None: ...
    def ended(self, cell: int, outcome: CellRecord | str, kept: bool) -> None: ...


@dataclass
class _Row:
    name: str
    state: str = "waiting"
    progress: CellProgress = field(default_factory=lambda: CellProgress(phase="waiting"))
    started: float | None = None


@dataclass
class _Board:
    """The state that both displays draw."""

    names: list[str]
    devices: DevicesRecord
    budget_device_seconds: float
    expected: Expected
    clock: Clock

    def __post_init__(self) -> None:
        self.rows = [_Row(name) for name in self.names]
        self.cell_seconds: list[float] = []

    @property
    def unit(self) -> str:
        return f"{DEVICE_NAMES[self.devices.kind]}-h"

    def start(self, cell: int) -> None:
        self.rows[cell].started = self.clock.now()
        self.rows[cell].state = "starting"

    def update(self, cell: int, progress: CellProgress) -> None:
        self.rows[cell].progress, self.rows[cell].state = progress, progress.phase

    def end(self, cell: int, outcome: CellRecord | str, kept: bool) -> None:
        row = self.rows[cell]
        if row.started is not None:
            self.cell_seconds.append(self.clock.now() - row.started)
        if isinstance(outcome, str):
            row.state = "failed"
            return
        row.state = "kept" if kept else "done" if outcome.status == "completed" else "failed"
        row.progress = final_progress(outcome, row.progress)

    def left(self) -> str:
        """How long the rest of the study will take, judged by the cells so far."""
        seconds = self.cell_seconds
        if self.expected.cell_seconds is None:
            return self._left_by_share()
        typical = sum(seconds) / len(seconds) if seconds else self.expected.cell_seconds
        return duration(self._left_s(typical))

    def _left_by_share(self) -> str:
        """Where cells are of very different lengths, but each says how far it is."""
        rows = [row for row in self.rows if row.state != "kept"]
        started = [row.started for row in rows if row.started is not None]
        share = sum(self._share(row) for row in rows) / max(len(rows), 1)
        if not started or share < LEAST_SHARE:
            return "0:00" if not rows else "?"
        return duration((self.clock.now() - min(started)) * (1 - share) / share)

    def _share(self, row: _Row) -> float:
        if row.state in ("done", "failed"):
            return 1.0
        return min(row.progress.held_device_seconds / self.budget_device_seconds, 1.0)

    @property
    def epochs(self) -> int:
        return sum(row.progress.epochs for row in self.rows)

    def _left_s(self, typical: float) -> float:
        left = sum(typical for row in self.rows if row.state == "waiting")
        for row in self.rows:
            if row.started is not None and row.state in ("starting", "running", "closing"):
                left += max(typical - (self.clock.now() - row.started), 0.0)
        return left / self.expected.cells_at_once

    @property
    def done(self) -> int:
        return sum(row.state in ("done", "kept", "failed") for row in self.rows)

    def cell_left(self, row: _Row) -> str:
        """A running cell's time left, where its clock is the real one; its share of the budget."""
        if self.expected.cell_seconds is None:
            return f"{self._share(row):.0%}"
        left = self.budget_device_seconds - row.progress.held_device_seconds
        return duration(left / self.devices.held)

    def held(self, row: _Row) -> str:
        held, budget = row.progress.held_device_seconds, self.budget_device_seconds
        return f"{held / 3600:.4f} of {budget / 3600:.4f} {self.unit}"


def final_progress(record: CellRecord, last: CellProgress) -> CellProgress:
    """The last state of a cell's row, from its record."""
    best = record.incumbent
    return CellProgress(
        phase="done",
        stopped=record.trials.get("stopped", 0),
        finished=record.trials.get("finished", 0),
        failed=record.trials.get("failed", 0) + record.trials.get("diverged", 0),
        epochs=last.epochs or record.events - sum(record.trials.values()),
        held_device_seconds=record.held_device_seconds,
        incumbent=None if best is None else best.validation_score,
        test_of_incumbent=None if best is None else best.test_score,
    )


def duration(seconds: float) -> str:
    """``75`` → ``1:15``."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


class PlainLines:
    """A line when a cell starts, every few seconds while it runs, and when it ends."""

    def __init__(self, console: Console, board: _Board) -> None:
        self._console, self._board = console, board
        self._last_line = 0.0

    def started(self, cell: int) -> None:
        self._board.start(cell)
        self._last_line = self._board.clock.now()
        self._say(cell, "starting its worker groups")

    def progress(self, cell: int, progress: CellProgress) -> None:
        self._board.update(cell, progress)
        now = self._board.clock.now()
        if progress.phase == "running" and now - self._last_line >= LINE_PERIOD_S:
            self._last_line = now
            self._say(cell, self._state(cell))

    def ended(self, cell: int, outcome: CellRecord | str, kept: bool) -> None:
        self._board.end(cell, outcome, kept)
        if isinstance(outcome, str):
            self._say(cell, f"FAILED: {outcome}")
        elif outcome.status == "failed":
            self._say(cell, f"FAILED: {outcome.reason}; {self._state(cell)}")
        else:
            self._say(cell, f"{'kept from before' if kept else 'done'}; {self._state(cell)}")

    def _state(self, cell: int) -> str:
        row = self._board.rows[cell]
        p = row.progress
        return (
            f"{p.running} running, {p.paused} paused, {p.stopped} stopped, "
            f"{p.finished} finished, {p.failed} failed; {p.epochs} epochs; "
            f"{self._board.held(row)}; incumbent {_score(p.incumbent)}; "
            f"study {self._board.left()} left"
        )

    def _say(self, cell: int, text: str) -> None:
        position = f"[{cell + 1}/{len(self._board.rows)}]"
        say(
            self._console,
            f"{position} {self._board.rows[cell].name}: {text}",
        )


class CountedLines(PlainLines):
    """For many quick cells: a line every few seconds, and one for each cell that fails."""

    def started(self, cell: int) -> None:
        self._board.start(cell)

    def progress(self, cell: int, progress: CellProgress) -> None:
        self._board.update(cell, progress)
        self._count()

    def ended(self, cell: int, outcome: CellRecord | str, kept: bool) -> None:
        if isinstance(outcome, str) or outcome.status == "failed":
            super().ended(cell, outcome, kept)
        else:
            self._board.end(cell, outcome, kept)
        self._count()

    def _count(self) -> None:
        board, now = self._board, self._board.clock.now()
        if now - self._last_line >= LINE_PERIOD_S or board.done == len(board.rows):
            self._last_line = now
            say(
                self._console,
                f"{board.done} of {len(board.rows)} cells done, {board.epochs} epochs; about "
                f"{board.left()} left",
            )


class LiveTable:
    """One table, redrawn in place; Ray's chatter never reaches this screen."""

    def __init__(self, live: Live, board: _Board) -> None:
        self._live, self._board = live, board
        self._lock = threading.Lock()

    def started(self, cell: int) -> None:
        self._board.start(cell)
        self._draw()

    def progress(self, cell: int, progress: CellProgress) -> None:
        self._board.update(cell, progress)
        self._draw()

    def ended(self, cell: int, outcome: CellRecord | str, kept: bool) -> None:
        self._board.end(cell, outcome, kept)
        reason = outcome if isinstance(outcome, str) else outcome.reason
        if isinstance(outcome, str) or outcome.status == "failed":
            name = self._board.rows[cell].name
            say(self._live.console, f"{name} FAILED: {reason}", "red")
        self._draw()

    def _draw(self) -> None:
        with self._lock:
            self._live.update(render(self._board), refresh=True)


def render(board: _Board) -> Table:
    """The live table of a study."""
    table = Table(
        title=f"{board.unit}: of {board.budget_device_seconds / 3600:.4g} per cell",
        title_justify="left",
        caption=f"{board.done} of {len(board.rows)} cells done; about {board.left()} left",
        caption_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    table.add_column("cell", no_wrap=True)
    for heading in ("run", "pause", "stop", "finish", "fail", "epochs", board.unit, "incumbent"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("left", justify="right", no_wrap=True)
    styles = {"running": "bold", "failed": "red", "waiting": "dim"}
    for row in _window(board.rows):
        p = row.progress
        shown = row.state != "waiting"
        counts = [p.running, p.paused, p.stopped, p.finished, p.failed, p.epochs]
        table.add_row(
            row.name,
            *[str(number) if shown else "" for number in counts],
            f"{p.held_device_seconds / 3600:.4f}" if shown else "",
            _score(p.incumbent) if shown else "",
            board.cell_left(row) if row.state == "running" else row.state,
            style=styles.get(row.state),
        )
    return table


def _window(rows: list[_Row]) -> list[_Row]:
    if len(rows) <= ROWS_AROUND:
        return rows
    waiting = [i for i, row in enumerate(rows) if row.state == "waiting"]
    first = max((waiting[0] if waiting else len(rows)) - ROWS_AROUND + 3, 0)
    return rows[first : first + ROWS_AROUND]


@contextmanager
def display(
    console: Console,
    names: list[str],
    devices: DevicesRecord,
    budget_device_seconds: float,
    expected: Expected,
    clock: Clock,
) -> Iterator[Display]:
    """The display that fits the console."""
    board = _Board(names, devices, budget_device_seconds, expected, clock)
    if not console.is_terminal:
        is_quick = expected.cell_seconds is None
        yield (CountedLines if is_quick else PlainLines)(console, board)
        return
    with Live(console=console, auto_refresh=False) as live:
        yield LiveTable(live, board)
