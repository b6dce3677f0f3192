"""The live table and the plain lines."""

from __future__ import annotations

import io

from rich.console import Console

from harness.cell import CellProgress
from harness.contract.records import CellRecord, DevicesRecord
from harness.live import Expected, display, duration
from tests.reports import make_run

DEVICES = DevicesRecord(
    kind="CPU", model="test", slots=1, workers_per_trial=2, devices_per_worker=1.0
)


class FakeClock:
    seconds = 0.0

    def now(self) -> float:
        return self.seconds


def shown(terminal: bool, width: int = 100) -> str:
    """All that a study of three cells prints: one done, one failed, one running."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=width, color_system=None)
    clock = FakeClock()
    names = ["random/asha seed 0", "hyperopt/asha seed 0", "pbt seed 0"]
    with display(console, names, DEVICES, 144.0, Expected(1, 112.0), clock) as board:
        for cell, outcome in enumerate([CellRecord(**done()), "its process died"]):
            board.started(cell)
            clock.seconds += 90.0
            board.ended(cell, outcome, kept=False)
        board.started(2)
        clock.seconds += 30.0
        progress = CellProgress(phase="running", running=1, paused=3, stopped=2, epochs=12)
        board.progress(
            2, progress.model_copy(update={"held_device_seconds": 72.0, "incumbent": 0.8765})
        )
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def done() -> dict[str, object]:
    return make_run.cell(trials={"stopped": 5}, events=20, events_sha256="")


def test_the_table_on_a_terminal_of_80_columns() -> None:
    last = shown(terminal=True, width=80).rsplit("cell ", 1)[1]
    assert "2 of 3 cells done; about 1:00 left" in last
    row = next(line for line in last.splitlines() if "pbt" in line)
    for part in ("1", "3", "2", "12", "0.0200", "0.8765", "0:36"):
        assert part in row
    assert "…" not in last
    assert all(len(line) <= 80 for line in last.splitlines())


def test_plain_lines_without_a_terminal() -> None:
    text = shown(terminal=False)
    assert "\x1b" not in text
    assert "[2/3] hyperopt/asha seed 0: FAILED: its process died" in text
    assert (
        "[3/3] pbt seed 0: 1 running, 3 paused, 2 stopped, 0 finished, 0 failed; 12 epochs; "
        "0.0200 of 0.0400 core-h; incumbent 0.8765; study 1:00 left"
    ) in text


def test_durations() -> None:
    assert [duration(s) for s in (0, 59.6, 75, 3600, -3)] == [
        "0:00", "1:00", "1:15", "1:00:00", "0:00",
    ]  # fmt: skip
