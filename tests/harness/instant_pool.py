"""A cluster cell's pool with one slot and a session in its own process: every answer at once.

A module of its own with few imports, because the pool's process has to make them.
"""

from __future__ import annotations

import pickle
import traceback
from collections import defaultdict
from typing import Any

import ray

from harness.cluster.messages import CellOverError, EpochCommand, EpochError, EpochResult, Progress
from harness.contract import Benchmark, Dataset, Worker
from harness.contract.records import Parent


class InstantPool:
    """Of a cell that is over after so many epochs that were trained without a failure."""

    def begin(self, benchmark: Benchmark, epochs: int) -> None:
        self._session = benchmark.session(Worker(), Dataset(None, "generated", ""), 0)
        self._metric, self._epochs_left = benchmark.metric, epochs
        self._progress = defaultdict[int, Progress](Progress)

    def acquire(self, holder: list[Any]) -> int:
        return 0

    def release(self, index: int) -> None: ...

    def look_back(self, trial: int) -> Progress:
        return self._progress[trial]

    def advance(self, lines: int) -> None: ...

    def reported(self, trial: int, epoch: int, parent: Parent | None) -> None:
        self._progress[trial] = self._progress[trial].after_report(epoch, parent)

    def actor_died(self, trial: int) -> None: ...

    def train(self, index: int, command: EpochCommand) -> EpochResult:
        if self._epochs_left == 0:
            raise CellOverError
        session = self._session
        try:
            if command.start:
                session.start(command.config, command.seed)
                if command.state_ref:
                    session.load(pickle.loads(ray.get(command.state_ref[0])))
            metrics = {**session.train_epoch(), **session.evaluate()}
        except Exception as error:
            raise EpochError(f"{type(error).__name__}: {error}", traceback.format_exc()) from None
        if self._metric in metrics:
            self._epochs_left -= 1
        state = ray.put(pickle.dumps(session.state()))
        return EpochResult(metrics, [], [state], index, 0.0, 0.0, {})
