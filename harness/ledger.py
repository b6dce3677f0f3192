"""Where every device-second of a cell went.

A slot (one worker group) is always doing exactly one thing for one trial, or nothing: its time
from the cell's start is cut into spans without gaps, so that the kinds sum to the time held.
Seconds here are wall-clock seconds of a slot; one slot-second is ``devices_per_slot``
device-seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from harness.contract.records import Kind


@dataclass(frozen=True)
class Charge:
    """``seconds`` of a slot spent on ``kind`` for ``trial`` (``None``: for no trial)."""

    trial: int | None
    kind: Kind
    seconds: float


class SlotLedger:
    """The account of one slot. All times are seconds since the cell's start."""

    def __init__(self) -> None:
        self._accounted_until_s = 0.0
        self._seconds: defaultdict[tuple[int | None, Kind], float] = defaultdict(float)

    def charge_until(self, at_s: float, trial: int | None, kind: Kind) -> None:
        """Everything since the last charge went into ``kind``."""
        self._add(trial, kind, at_s - self._accounted_until_s)
        self._accounted_until_s = max(at_s, self._accounted_until_s)

    def charge_spans(
        self, at_s: float, trial: int | None, spans: Iterable[tuple[Kind, float]]
    ) -> None:
        """Spans measured by the workers since the last charge; what they leave over was idle.

        The workers' own clocks cannot report more time than passed here: if rounding makes them,
        the spans are scaled down to fit.
        """
        spans = list(spans)
        elapsed = max(at_s - self._accounted_until_s, 0.0)
        measured = sum(seconds for _, seconds in spans)
        scale = min(1.0, elapsed / measured) if measured > 0 else 1.0
        for kind, seconds in spans:
            self._add(trial, kind, seconds * scale)
        self._add(trial, "idle", elapsed - measured * scale)
        self._accounted_until_s = max(at_s, self._accounted_until_s)

    def trial_seconds(self, trial: int) -> dict[Kind, float]:
        """Seconds by kind that this slot has spent on a trial so far."""
        return {kind: s for (owner, kind), s in self._seconds.items() if owner == trial}

    def charges(self) -> list[Charge]:
        return [Charge(trial, kind, s) for (trial, kind), s in self._seconds.items() if s > 0]

    def _add(self, trial: int | None, kind: Kind, seconds: float) -> None:
        if seconds > 0:
            self._seconds[trial, kind] += seconds
