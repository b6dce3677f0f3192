"""Saves a cluster cell's incumbents while it runs, beside Tune's loop."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray

from harness.contract.records import Incumbent
from harness.tuning.incumbent import read_incumbent, write_incumbent


class IncumbentSaver:
    """The recorder's ``keep_incumbent``; ``state``: a list of one ``ObjectRef``, or nothing. An
    empty list is that of a report that is told again: what an earlier process of the cell has saved
    is left as it is until it is clear that it is another one's."""

    def __init__(self, cell_folder: Path) -> None:
        self._told_again: Incumbent | None = None
        self._cell_folder = cell_folder
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._saves: list[Future[None]] = []

    def __call__(self, incumbent: Incumbent | None, state: list[Any] | None) -> None:
        self._told_again = incumbent if state == [] else None
        if self._told_again is None:
            self._saves.append(self._thread.submit(self._save, incumbent, state or []))

    def finish(self) -> list[str]:
        """Wait for what is under way; returns what the user should know."""
        self._thread.shutdown(wait=True)
        warnings = [
            f"an incumbent's checkpoint could not be kept: {error}"
            for save in self._saves
            if (error := save.exception()) is not None
        ]
        left = self._told_again
        if left is not None and not self._has(left):
            write_incumbent(self._cell_folder, left, None)
            warnings.append("the incumbent's checkpoint was lost when its process was killed")
        return warnings

    def _has(self, incumbent: Incumbent) -> bool:
        try:
            return read_incumbent(self._cell_folder) == incumbent
        except (OSError, ValueError):
            return False

    def _save(self, incumbent: Incumbent | None, state: list[Any]) -> None:
        try:
            packed = ray.get(state[0]) if state else None
        except ray.exceptions.RayError:
            write_incumbent(self._cell_folder, incumbent, None)
            raise
        write_incumbent(self._cell_folder, incumbent, packed)
