"""Saves a cluster cell's incumbents while it runs, beside Tune's loop."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray

from harness.contract.records import Incumbent
from harness.tuning.incumbent import write_incumbent


class IncumbentSaver:
    """The recorder's ``keep_incumbent``; ``state`` is a list of one ``ObjectRef``, or empty."""

    def __init__(self, cell_folder: Path) -> None:
        self._cell_folder = cell_folder
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._saves: list[Future[None]] = []

    def __call__(self, incumbent: Incumbent, state: list[Any]) -> None:
        if state:
            self._saves.append(self._thread.submit(self._save, incumbent, state[0]))

    def finish(self) -> list[str]:
        """Wait for what is under way; returns what the user should know."""
        self._thread.shutdown(wait=True)
        return [
            f"an incumbent's checkpoint could not be kept: {error}"
            for save in self._saves
            if (error := save.exception()) is not None
        ]

    def _save(self, incumbent: Incumbent, state_ref: Any) -> None:
        write_incumbent(self._cell_folder, incumbent, ray.get(state_ref))
