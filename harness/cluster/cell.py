"""Runs one cell in this process: Ray Tune on a pool of warm worker groups, under a budget.

The order saves seconds of every cell: the pool's own process loads Ray Train and torch while this
one loads Ray Tune and the searchers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

from benchmarks.registry import make_benchmark
from harness.cell import CellProgress
from harness.clock import Clock
from harness.cluster.messages import EpochError
from harness.cluster.pool import start_pool
from harness.cluster.spec import ClusterCellSpec
from harness.cluster.storage import open_storage
from harness.contract.records import CellRecord
from harness.ledger import CellAccount
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from harness.tuning.recorder import Recorder

Report = Callable[[CellProgress], None]

STATUS_PERIOD_S = 0.5


def run_cell(
    spec: ClusterCellSpec, folder: Path, report: Report, clock: Clock, started: float
) -> CellRecord:
    """Run a cell from its start to its cut; its events and incumbent are in ``folder``.

    One cell, one process: it seeds the process's global random states. ``started`` is when the
    process began, by ``clock``.
    """
    report(CellProgress(phase="starting"))
    benchmark = make_benchmark(spec.study.benchmark, spec.study.benchmark_options)
    storage = open_storage(spec.storage).child(spec.name)
    pool, opening = start_pool(spec, benchmark, storage, spec.budget_seconds)
    # Loaded while the groups start.
    from harness.cluster.incumbent_saver import IncumbentSaver
    from harness.cluster.tuning_run import run_tuner
    from harness.tuning.cell_tuning import CellTuning
    from harness.tuning.searcher import MeasuredTime
    from harness.tuning.watchdog import patience_s

    saver = IncumbentSaver(folder)
    strategy = STRATEGIES.get(spec.strategy)
    tuning = CellTuning(
        spec, strategy, benchmark, folder, MeasuredTime(clock), saver, is_followed=True
    )
    patience = patience_s(spec.budget_seconds)
    watch = Watch(spec, tuning.recorder, opening, report, clock, started, patience)
    run_tuner(tuning, pool, storage, watch.is_over)
    watch.end()
    account: CellAccount = ray.get(pool.close.remote())
    tuning.recorder.finish(account.ended_s)
    return tuning.record(
        account,
        setup_seconds=watch.setup_seconds,
        wall_seconds=clock.now() - started,
        warnings=saver.finish(),
    )


class Watch:
    """Follows a cell from Tune's loop: notices the start and the end, and feeds the live table.

    ``patience_s``: how long nothing may run while trials wait for each other.
    """

    def __init__(
        self,
        spec: ClusterCellSpec,
        recorder: Recorder,
        opening: Any,
        report: Report,
        clock: Clock,
        started: float,
        patience_s: float,
    ) -> None:
        self._patience_s = patience_s
        self._spec, self._recorder, self._opening = spec, recorder, opening
        self._report, self._clock, self._started = report, clock, started
        self._opened: float | None = None
        self._reported = started
        self._stuck_since: float | None = None
        self.setup_seconds = 0.0

    def is_over(self) -> bool:
        now = self._clock.now()
        if self._opened is None and ray.wait([self._opening], timeout=0)[0]:
            self._open(now)
        if now - self._reported >= STATUS_PERIOD_S:
            self._reported = now
            self._report(self.progress("running" if self._opened is not None else "starting"))
        if self._is_stuck(now):
            self._recorder.stop_reason = self._recorder.stuck
        spent = self._opened is not None and now - self._opened >= self._spec.budget_seconds
        return spent or self._recorder.saw_cut or self._recorder.stop_reason is not None

    def end(self) -> None:
        if self._opened is None and self._recorder.stop_reason is None:
            ray.wait([self._opening])
            self._open(self._clock.now())
        self._report(self.progress("closing"))

    def progress(self, phase: str) -> CellProgress:
        elapsed = 0.0 if self._opened is None else self._clock.now() - self._opened
        return self._recorder.progress(phase, min(elapsed, self._spec.budget_seconds))

    def _is_stuck(self, now: float) -> bool:
        if self._opened is None or self._recorder.stuck is None:
            self._stuck_since = None
            return False
        if self._stuck_since is None:
            self._stuck_since = now
        return now - self._stuck_since >= self._patience_s

    def _open(self, now: float) -> None:
        self.setup_seconds = now - self._started
        try:
            ray.get(self._opening)
            self._opened = now
        except ray.exceptions.RayTaskError as error:
            if not isinstance(error.cause, EpochError):
                raise
            self._recorder.stop_reason = f"the worker groups did not start: {error.cause}"
