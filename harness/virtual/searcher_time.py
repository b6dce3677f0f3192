"""What a searcher's calls cost on the virtual clock: Tune's loop does nothing else meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from harness.clock import Clock
from harness.virtual.clock import VirtualClock


class FixedTime:
    """So many seconds per suggestion: the same on every machine.

    Those before the clock runs are made during the set-up.
    """

    def __init__(self, clock: VirtualClock, suggestion_seconds: float) -> None:
        self._clock, self._suggestion_seconds = clock, suggestion_seconds
        self.seconds = 0.0

    @contextlib.contextmanager
    def suggesting(self) -> Iterator[None]:
        yield
        self.seconds += self._suggestion_seconds
        if self._clock.is_running:
            self._clock.spend(self._suggestion_seconds)

    def telling(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


class RealTime:
    """What the calls take on this machine, now: not the same twice."""

    def __init__(self, clock: VirtualClock, real_clock: Clock) -> None:
        self._clock, self._real_clock = clock, real_clock
        self.seconds = 0.0

    @contextlib.contextmanager
    def suggesting(self) -> Iterator[None]:
        started = self._real_clock.now()
        yield
        seconds = self._real_clock.now() - started
        self.seconds += seconds
        if self._clock.is_running:
            self._clock.spend(seconds)

    telling = suggesting
