"""The states that a cell needs to go on when its processes are killed, and no more than those.

Of each trial: the newest state, written beside the training (where an epoch takes less than the
write, not each one is), and those of its newest Tune checkpoints, each on disk before Tune hears
of it. ``REPORTS.pt`` and ``REPORTS.saved.pt`` in a folder of its number; ``REPORTS`` counts its
epochs, which its epoch's number does not once it has taken over another trial's state.
"""

from __future__ import annotations

import traceback
from concurrent.futures import Future, ThreadPoolExecutor

from harness.cluster.storage import Storage

NEWEST, SAVED = ".pt", ".saved.pt"


def trial_folder(storage: Storage, trial: int) -> Storage:
    """Where a trial's states lie in a cell's storage for states."""
    return storage.child(f"{trial:05d}")


class TrialStates:
    """One trial's states in a cell's storage; one process at a time writes a trial's.

    Args:
        keep_saved: how many checkpoints an exploit or a pause may still need.
    """

    def __init__(self, storage: Storage, trial: int, keep_saved: int) -> None:
        self._storage = trial_folder(storage, trial)
        self._keep_saved = keep_saved
        self._writer = ThreadPoolExecutor(max_workers=1)
        self._writing: Future[None] | None = None
        self._next: tuple[int, bytes] | None = None

    def keep(self, reports: int, state: bytes) -> None:
        """Write the newest state in the background; one that waits for its turn is left out."""
        self._next = reports, state
        if self._writing is None or self._writing.done():
            self._writing = self._writer.submit(self._write)

    def save(self, reports: int, state: bytes) -> None:
        """Write a checkpoint's state, and return when it is there."""
        self._storage.write(f"{reports}{SAVED}", state)
        for old in self._counts(SAVED)[: -self._keep_saved]:
            self._storage.remove(f"{old}{SAVED}")

    def at(self, reports: int) -> bytes | None:
        """The state after so many epochs, if it is still there."""
        found = self.newest(reports - 1, reports)
        return None if found is None else found[1]

    def newest(self, after: int, until: int) -> tuple[int, bytes] | None:
        """The newest state of those after so many epochs, and how many it has."""
        if after >= until:
            return None  # Every trial's start asks, and most have no past.
        found = [
            (reports, suffix) for suffix in (SAVED, NEWEST) for reports in self._counts(suffix)
        ]
        for reports, suffix in sorted(found, reverse=True):
            if after < reports <= until:
                return reports, self._storage.read(f"{reports}{suffix}")
        return None

    def close(self, reports: int) -> None:
        """The trial rests or has ended after so many epochs: of those only checkpoints can still be
        asked for. (Where its past is told again, it has later states, which are needed yet.)"""
        self._writer.shutdown(wait=True)
        for old in self._counts(NEWEST):
            if old <= reports:
                self._storage.remove(f"{old}{NEWEST}")

    def _write(self) -> None:
        while (given := self._next) is not None:
            self._next = None
            reports, state = given
            try:
                self._storage.write(f"{reports}{NEWEST}", state)
                for old in self._counts(NEWEST):
                    if old != reports:
                        self._storage.remove(f"{old}{NEWEST}")
            except Exception:
                # The training goes on: what is not there after a kill is trained again.
                traceback.print_exc()

    def _counts(self, suffix: str) -> list[int]:
        """The states of a kind, oldest first."""
        names = self._storage.names()
        stems = [name.removesuffix(suffix) for name in names if name.endswith(suffix)]
        return sorted(int(stem) for stem in stems if stem.isdecimal())
