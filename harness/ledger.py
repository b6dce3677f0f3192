"""Where every device-second of a cell went.

A slot (one worker group) is always doing exactly one thing for one trial, or nothing: its time
from the cell's start is cut into spans without gaps, so that the kinds sum to the time held.
Seconds here are wall-clock seconds of a slot; one slot-second is ``devices_per_slot``
device-seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from harness.contract.records import Kind

WORK: Final[frozenset[Kind]] = frozenset({"restore", "train", "evaluate", "checkpoint"})
"""What a report is the fruit of."""


class Charge(NamedTuple):
    """``seconds`` of a slot spent on ``kind`` for ``trial`` (``None``: for no trial)."""

    trial: int | None
    kind: Kind
    seconds: float


@dataclass(frozen=True)
class CellAccount:
    """A cell's final account, in slot-seconds; ``in_flight``: (trial, work cut off at the end)."""

    ended_s: float
    charges: list[Charge]
    in_flight: list[tuple[int, float]]


class Account(Protocol):
    """What time is charged to."""

    def add(self, trial: int | None, kind: Kind, seconds: float) -> None: ...


class CellLedger:
    """The accounts of a cell's slots, and their sums by trial and kind."""

    def __init__(self) -> None:
        self._seconds: dict[int | None, dict[Kind, float]] = {}

    def open_slot(self) -> SlotLedger:
        return SlotLedger(self)

    def add(self, trial: int | None, kind: Kind, seconds: float) -> None:
        if seconds > 0:
            kinds = self._seconds.get(trial)
            if kinds is None:
                kinds = self._seconds[trial] = {}
            kinds[kind] = kinds.get(kind, 0.0) + seconds

    def lose(self, charge: Charge) -> None:
        """What was charged turned out to be ``lost``."""
        kinds = self._seconds[charge.trial]
        kinds[charge.kind] = max(kinds[charge.kind] - charge.seconds, 0.0)
        self.add(charge.trial, "lost", charge.seconds)

    def trial_seconds(self, trial: int) -> dict[Kind, float]:
        """Slot-seconds by kind spent on a trial so far, on whatever slots."""
        return dict(self._seconds.get(trial, {}))

    def charges(self) -> list[Charge]:
        return [
            Charge(trial, kind, seconds)
            for trial, kinds in self._seconds.items()
            for kind, seconds in kinds.items()
            if seconds > 0
        ]


class NotedAccount:
    """The account of a cell that notes each charge until it is taken."""

    def __init__(self, account: CellLedger) -> None:
        self._account = account
        self._noted: list[Charge] = []

    def add(self, trial: int | None, kind: Kind, seconds: float) -> None:
        self._account.add(trial, kind, seconds)
        self._noted.append(Charge(trial, kind, seconds))

    def take(self) -> list[Charge]:
        noted, self._noted = self._noted, []
        return noted

    def lose(self, taken: Sequence[Charge], trial: int) -> None:
        """What was taken came to nothing: the trial's work in it is lost, and all of it is there
        to be taken again."""
        again = []
        for charge in taken:
            if charge.trial == trial and charge.kind in WORK and charge.seconds > 0:
                self._account.lose(charge)
                charge = charge._replace(kind="lost")
            again.append(charge)
        self._noted = [*again, *self._noted]


class SlotLedger:
    """The account of one slot. All times are seconds since the cell's start."""

    def __init__(self, cell: Account) -> None:
        self._cell = cell
        self._accounted_until_s = 0.0

    def accounted_until(self, at_s: float) -> None:
        """The time until then has been charged elsewhere."""
        self._accounted_until_s = max(at_s, self._accounted_until_s)

    def charge_until(self, at_s: float, trial: int | None, kind: Kind) -> None:
        """Everything since the last charge went into ``kind``."""
        self._cell.add(trial, kind, at_s - self._accounted_until_s)
        self._accounted_until_s = max(at_s, self._accounted_until_s)

    def charge_spans(self, at_s: float, trial: int, spans: Sequence[tuple[Kind, float]]) -> None:
        """What filled the time since the last charge without a gap."""
        for kind, seconds in spans:
            self._cell.add(trial, kind, seconds)
        self._accounted_until_s = at_s

    def charge_measured(
        self, at_s: float, measured: Sequence[Charge], idle_trial: int | None
    ) -> None:
        """What was measured since the last charge; what that leaves over was ``idle_trial``'s idle.

        The clocks that measured cannot report more time than passed here: if rounding makes them,
        the charges are scaled down to fit.
        """
        if not measured:
            self.charge_until(at_s, idle_trial, "idle")
            return
        elapsed = max(at_s - self._accounted_until_s, 0.0)
        total = sum(charge.seconds for charge in measured)
        scale = min(1.0, elapsed / total) if total > 0 else 1.0
        for charge in measured:
            self._cell.add(charge.trial, charge.kind, charge.seconds * scale)
        self._cell.add(idle_trial, "idle", elapsed - total * scale)
        self._accounted_until_s = max(at_s, self._accounted_until_s)
