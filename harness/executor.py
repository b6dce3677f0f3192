"""What the runner asks of an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from harness.contract import Benchmark
from harness.contract.records import CellRecord, DevicesRecord, Retraining
from harness.decided import DecidedStudy
from harness.live import Display
from harness.retraining.job import RetrainJob
from harness.store import RunStore
from harness.study import StudyConfig

Outcomes = dict[tuple[str, int], str | None]
"""(strategy, seed) → why the cell failed, or ``None``."""

RetrainingDone = Callable[[int, Retraining], None]
"""Told which job is done, by its index, and what came of it."""


class Executor(Protocol):
    """Runs a study's cells, where and when it can.

    ``cells_at_once``: about how many run side by side. ``cell_overhead_seconds``: about what one
    takes besides its budget; ``None`` where the time it takes has nothing to do with its budget.
    """

    @property
    def cells_at_once(self) -> int: ...

    @property
    def cell_overhead_seconds(self) -> float | None: ...

    def decide_devices(self, config: StudyConfig, benchmark: Benchmark) -> DevicesRecord:
        """What every cell holds. Raises :class:`UsageError`."""

    def study_fields(self) -> dict[str, Any]:
        """The executor's own fields of a :class:`StudyRecord`."""

    def run(self, study: DecidedStudy, store: RunStore, shown: Display) -> Outcomes:
        """Run every cell that is not finished yet."""

    def retrain(
        self,
        study: DecidedStudy,
        store: RunStore,
        jobs: Sequence[RetrainJob],
        done: RetrainingDone,
    ) -> str | None:
        """Train every job, in whatever order; ``done`` is called for each, in one thread.

        Returns why some were not trained, if so.
        """


def show_end(shown: Display, index: int, outcome: CellRecord | str) -> str | None:
    """Show how a cell ended (its record, or why it has none); returns why it failed, if it did."""
    shown.ended(index, outcome, kept=False)
    if isinstance(outcome, str):
        return outcome
    return None if outcome.status == "completed" else outcome.reason


@contextmanager
def open_executor(config: StudyConfig, log: Path) -> Iterator[Executor]:
    """The executor that a study asks for, connected to its Ray cluster.

    Raises:
        UsageError: no cluster there, or it cannot serve.
    """
    if config.executor == "virtual":
        from harness.virtual.executor import virtual_executor

        with virtual_executor(config, log) as virtual:
            yield virtual
    else:
        from harness.cluster.executor import cluster_executor

        with cluster_executor(config, log) as cluster:
            yield cluster
