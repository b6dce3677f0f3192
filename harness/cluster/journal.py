"""A cell's journal: what its searcher and scheduler heard, in order, on disk before anything
follows from it. With it a cell whose processes were killed is gone on with.

``journal.jsonl`` has a JSON line for each; ``held.json`` is the cell's clock, twice a second. Both
lie in the cell's folder, and are of use only until its ``cell.json`` is there.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from harness.contract.files import append_whole
from harness.contract.records import Kind, Parent, Record
from harness.ledger import CellLedger, Charge, SlotLedger
from harness.redaction import redacted
from harness.tuning.results import Failure

JOURNAL_FILE, HELD_FILE = "journal.jsonl", "held.json"
NOT_GONE_ON_FILE = "not-gone-on-with.txt"
"""Says why a process could not go on with the cell: it has to be run from its start."""

STUMBLED_FILE = "stumbled.txt"
"""Where the last process that an error ended was in its past, and what the error was."""

HELD_BYTES = 160
ROUNDING_S = 1e-6
LOCK_TIMEOUT_S = 60.0
"""How long an orphan of a killed study may take to notice, before its cell is gone on with."""


class JournalBusyError(Exception):
    """Another process has the journal."""


class JournalError(Exception):
    """The journal does not say what a cell needs to go on: it has to be run from its start."""


class Begun(Record):
    """A process took the cell over: its clock will go on at ``at_s``, the time that the processes
    before held (0: there was none)."""

    type: Literal["begun"] = "begun"
    at_s: float


class Suggested(Record):
    """The searcher was asked for a configuration, and gave one. ``tune_id``: its trial's."""

    type: Literal["suggested"] = "suggested"
    tune_id: str


class Reported(Record):
    """A trial's epoch, as its actor told Tune. ``charges``: what its slot was charged since the
    report before, in slot-seconds; other times are seconds since the cell's start."""

    type: Literal["reported"] = "reported"
    trial: int
    epoch: int
    metrics: dict[str, float]
    spans: list[tuple[Kind, float]]
    slot: int
    started_s: float
    reported_s: float
    trial_seconds: dict[Kind, float]
    parent: Parent | None
    failures: list[Failure]
    charges: list[Charge]


class Failed(Record):
    """A trial failed for good."""

    type: Literal["failed"] = "failed"
    trial: int
    failures: list[Failure]


class Saved(Record):
    """Tune heard that a trial's checkpoint is there. What it had decided waited for that."""

    type: Literal["saved"] = "saved"
    trial: int


class ActorDied(Record):
    """A trial's Tune actor died, and the trial is tried again."""

    type: Literal["actor_died"] = "actor_died"
    tune_id: str
    failure: Failure


Answer = Reported | Failed
"""What a trial's actor told Tune."""

Heard = Suggested | Reported | Failed | Saved | ActorDied
"""What has to be told again, in its order, to come to the same state."""

Line = Begun | Heard
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])


class Held(Record):
    """What the cell's processes have taken so far: seconds of all slots on the cell's clock, of
    wall-clock in all, and of set-up."""

    held_s: float = 0.0
    wall_seconds: float = 0.0
    setup_seconds: float = 0.0


class Journal:
    """One cell's journal, locked for this process.

    Raises:
        JournalError: it cannot be read.
        JournalBusyError: another process has had it for too long.
    """

    def __init__(self, folder: Path) -> None:
        self._file = (folder / JOURNAL_FILE).open("ab+", buffering=0)
        _lock(self._file.fileno())
        self.past = self._read()
        self._clock = os.open(folder / HELD_FILE, os.O_RDWR | os.O_CREAT, 0o644)
        held = _read_held(folder)
        reported = [line.reported_s for line in self.past if isinstance(line, Reported)]
        self.before = held.model_copy(update={"held_s": max([held.held_s, *reported])})
        """What the processes before this one took."""
        self.append(Begun(at_s=self.before.held_s))

    def append(self, line: Line) -> None:
        append_whole(self._file, line.model_dump_json().encode() + b"\n")

    def tick(self, now: Held) -> None:
        """Note the cell's clock. In place: a text that short is never half there."""
        os.pwrite(self._clock, now.model_dump_json().ljust(HELD_BYTES).encode(), 0)
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
        os.close(self._clock)

    def _read(self) -> list[Line]:
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind(b"\n") + 1]
        # A line that the kill cut off was not heard by anyone.
        self._file.truncate(len(whole))
        try:
            return [_LINE.validate_json(line) for line in whole.splitlines()]
        except ValidationError as error:
            raise JournalError(f"its {JOURNAL_FILE} cannot be read: {error.errors()[0]}") from None


def _read_held(folder: Path) -> Held:
    try:
        return Held.model_validate_json((folder / HELD_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return Held()


def note_stumble(folder: Path, heard: int, error: BaseException) -> None:
    """An error ended the process while the past was told again, after so many lines.

    Raises:
        JournalError: the same error ended the one before at the same place: the next would come no
            further either.
    """
    here = redacted(f"after line {heard} of {JOURNAL_FILE}: {type(error).__name__}: {error}")
    path = folder / STUMBLED_FILE
    if path.exists() and path.read_text() == here:
        raise JournalError(f"twice in a row it stopped {here}") from error
    path.write_text(here)


def heard(lines: Sequence[Line]) -> list[Heard]:
    """What of a journal has to be told again."""
    return [line for line in lines if not isinstance(line, Begun)]


def reports_so_far(folder: Path) -> int | None:
    """How many epochs a cell's processes reported before they were killed; ``None``: there is
    nothing to go on with. (Where they held devices, there is, though nothing was reported: those
    seconds are the cell's.)"""
    path = folder / JOURNAL_FILE
    if not path.exists() or (folder / NOT_GONE_ON_FILE).exists():
        return None
    with path.open("rb") as lines:
        count = sum(line.startswith(b'{"type":"reported"') for line in lines)
    return count if count or _read_held(folder).held_s > 0 else None


def restore_ledger(
    lines: Sequence[Line], slots: Sequence[SlotLedger], ledger: CellLedger, held_s: float
) -> None:
    """Charge what the journal says. What a slot held besides, for work that was never reported or
    until its process was killed, is ``lost``: nobody knows any more what it was."""
    for line in lines:
        if isinstance(line, Reported):
            charged_s = sum(charge.seconds for charge in line.charges)
            # What rounding leaves is nothing that was lost.
            slots[line.slot].charge_until(line.reported_s - charged_s - ROUNDING_S, None, "lost")
            for charge in line.charges:
                ledger.add(*charge)
            slots[line.slot].accounted_until(line.reported_s)
        elif isinstance(line, Begun):
            _lose(slots, line.at_s)
    _lose(slots, held_s)


def _lose(slots: Sequence[SlotLedger], until_s: float) -> None:
    for slot in slots:
        slot.charge_until(until_s, None, "lost")


def _lock(file: int) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise JournalBusyError(
                    f"another process has held its {JOURNAL_FILE} for {LOCK_TIMEOUT_S:g} s"
                ) from None
            time.sleep(0.2)
