"""The only place that asks the machine for the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Seconds from an arbitrary origin, never going back."""

    def now(self) -> float: ...


class MonotonicClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        return time.monotonic()


def utc_timestamp() -> str:
    """The present time for people and records, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
