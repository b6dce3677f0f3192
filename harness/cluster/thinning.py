"""Removes the checkpoints of trials that have ended, while the cell goes on.

What a paused or running trial needs, Tune keeps by number; what the incumbent needs lies in the
cell's folder. Where trials take over each other's states (PBT), one that has not had its turn yet
may still need that of one that has ended, and nothing is removed.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyarrow import fs
from ray import tune
from ray.tune.experiment import Trial

from harness.cluster.states import trial_folder
from harness.cluster.storage import Storage
from harness.tuning.names import trial_number


class Thinning(tune.Callback):
    """A Tune callback. ``states``: as of :class:`TrialStates`."""

    def __init__(self, states: Storage) -> None:
        self._states = states
        self._thread = ThreadPoolExecutor(max_workers=1)

    def __getstate__(self) -> dict[str, Any]:
        """As the recorder's."""
        return {}

    def on_trial_complete(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        self._thread.submit(self._remove, trial)

    def _remove(self, trial: Trial) -> None:
        storage = trial.storage
        try:
            selector = fs.FileSelector(storage.trial_fs_path, allow_not_found=True)
            for found in storage.storage_filesystem.get_file_info(selector):
                if found.type == fs.FileType.Directory and found.base_name.startswith("checkpoint"):
                    storage.storage_filesystem.delete_dir(found.path)
            trial_folder(self._states, trial_number(str(trial))).delete()
        except OSError as error:
            # All goes at the cell's end.
            print(f"the checkpoints of {trial} could not be removed: {error}", file=sys.stderr)
