"""When a cell ends: at its budget, or early because of what the recorder saw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ray import tune


class CellStopper(tune.Stopper):
    """Ends the whole experiment once ``is_over``; single trials end by the scheduler's word."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self._is_over = is_over

    def __getstate__(self) -> dict[str, Any]:
        """As the recorder's: never restored."""
        return {}

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        """Asked by Tune at every step of its loop, at least ten times a second."""
        return self._is_over()
