"""A clock that jumps to the next event."""

from __future__ import annotations


class VirtualClock:
    """Seconds since a cell's start, never going back; a :class:`harness.clock.Clock`."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self.is_running = False
        """Whether anything has happened yet."""

    def now(self) -> float:
        return self._now_s

    def advance_to(self, at_s: float) -> None:
        """Nothing where the time has passed already: the controller was busy then."""
        self.is_running = True
        self._now_s = max(self._now_s, at_s)

    def spend(self, seconds: float) -> None:
        """The controller itself is busy for so long."""
        self._now_s += seconds
