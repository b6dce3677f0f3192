"""A cell's ``retrained.json``: what is there is kept, and every retraining added at once."""

from __future__ import annotations

from pathlib import Path

from harness.contract.files import write_atomically
from harness.contract.records import Incumbent, Retraining, RetrainRecord
from harness.retraining.seeds import FreshSeeds
from reports.store import RETRAINED_FILE, read_retrained


class RetrainedFile:
    """Of one incumbent; a file that is damaged or another incumbent's counts as none."""

    def __init__(self, folder: Path, incumbent: Incumbent, seeds: FreshSeeds) -> None:
        self._path, self._incumbent, self._seeds = folder / RETRAINED_FILE, incumbent, seeds
        found = read_retrained(folder, incumbent)
        there = [] if isinstance(found, str) else found.retrainings
        self._by_seed = {retraining.seed: retraining for retraining in there}

    def __contains__(self, seed: int) -> bool:
        return seed in self._by_seed

    def add(self, retraining: Retraining) -> None:
        """Written in the order of the seeds, whichever was done first."""
        self._by_seed[retraining.seed] = retraining
        in_order = sorted(self._by_seed, key=self._seeds.place)
        record = RetrainRecord(
            trial=self._incumbent.trial,
            epoch=self._incumbent.epoch,
            retrainings=[self._by_seed[seed] for seed in in_order],
        )
        write_atomically(self._path, record.model_dump_json(indent=2) + "\n")
