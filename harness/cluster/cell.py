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
from harness.cluster.journal import Held, Journal, note_stumble
from harness.cluster.messages import EpochError
from harness.cluster.pool import Past, start_pool
from harness.cluster.spec import ClusterCellSpec
from harness.cluster.storage import open_storage
from harness.contract.records import CellRecord
from harness.ledger import CellAccount
from harness.tuning.event_log import OtherHistoryError
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from harness.cluster.replay import Replay
    from harness.tuning.recorder import Recorder

Report = Callable[[CellProgress], None]

STATUS_PERIOD_S = 0.5

REPLAY_PATIENCE_S = 120.0
"""Without a word from it, a cell's past cannot be told again."""


def run_cell(
    spec: ClusterCellSpec, folder: Path, report: Report, clock: Clock, started: float
) -> CellRecord:
    """Run a cell from its start to its cut; its events and incumbent are in ``folder``.

    One cell, one process: it seeds the process's global random states. ``started`` is when the
    process began, by ``clock``.
    """
    report(CellProgress(phase="starting"))
    journal = Journal(folder)
    benchmark = make_benchmark(spec.study.benchmark, spec.study.benchmark_options)
    storage = open_storage(spec.storage).child(spec.name)
    past = Past(journal.past, journal.before.held_s)
    pool, opening = start_pool(spec, benchmark, storage, spec.budget_seconds, past)
    # Loaded while the groups start.
    from harness.cluster.incumbent_saver import IncumbentSaver
    from harness.cluster.replay import Replay
    from harness.cluster.tuning_run import run_tuner
    from harness.tuning.cell_tuning import CellTuning
    from harness.tuning.searcher import MeasuredTime
    from harness.tuning.watchdog import patience_s

    saver = IncumbentSaver(folder)
    strategy = STRATEGIES.get(spec.strategy)
    tuning = CellTuning(
        spec, strategy, benchmark, folder, MeasuredTime(clock), saver, is_followed=True
    )
    replay = Replay(
        journal,
        tuning.recorder,
        advance=pool.advance.remote,
        tell_report=pool.reported.remote,
        tell_death=pool.actor_died.remote,
    )
    if tuning.told is not None:
        tuning.told.turn = replay
    patience = patience_s(spec.budget_seconds)
    watch = Watch(
        spec, tuning.recorder, replay, journal, pool, opening, report, clock, started, patience
    )
    try:
        run_tuner(tuning, pool, storage, watch.is_over, replay)
    except Exception as error:
        if not replay.is_over:
            note_stumble(folder, replay.heard, error)
        raise
    if not replay.is_over and tuning.recorder.stop_reason is None:
        raise OtherHistoryError(f"Tune ended after {replay.heard} lines of the journal")
    watch.end()
    account: CellAccount = ray.get(pool.close.remote())
    tuning.recorder.finish(account.ended_s)
    taken = watch.taken()
    journal.close()
    return tuning.record(
        account,
        setup_seconds=taken.setup_seconds,
        wall_seconds=taken.wall_seconds,
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
        replay: Replay,
        journal: Journal,
        pool: Any,
        opening: Any,
        report: Report,
        clock: Clock,
        started: float,
        patience_s: float,
    ) -> None:
        self._patience_s = patience_s
        self._spec, self._recorder, self._opening = spec, recorder, opening
        self._replay, self._journal = replay, journal
        self._pool, self._pulse = pool, pool.is_alive.remote()
        self._report, self._clock, self._started = report, clock, started
        self._opened: float | None = None
        self._reported = started
        self._heard, self._heard_at = -1, started  # Nothing has been looked at.
        self._setup_seconds = 0.0
        self._stuck_since: float | None = None
        self._is_closing = False

    def is_over(self) -> bool:
        """Asked at each step of Tune's loop. Raises what the pool died of: without it no trial can
        go on, and the cell is for another process."""
        now = self._clock.now()
        if self._opened is None and ray.wait([self._opening], timeout=0)[0]:
            self._open(now)
        if not self._replay.is_over:
            self._watch_replay(now)
        if now - self._reported >= STATUS_PERIOD_S:
            self._reported = now
            if ray.wait([self._pulse], timeout=0)[0]:
                ray.get(self._pulse)
                self._pulse = self._pool.is_alive.remote()
            self._journal.tick(self.taken())
            self._report(self.progress("running" if self._opened is not None else "starting"))
        if self._is_stuck(now):
            self._recorder.stop_reason = self._recorder.stuck
        spent = self._opened is not None and self.taken().held_s >= self._spec.budget_seconds
        is_over = spent or self._recorder.saw_cut or self._recorder.stop_reason is not None
        if is_over and not self._is_closing:
            # Before Tune ends: it would wait for what is under way, on devices that are billed.
            self._is_closing = True
            self._pool.close.remote()
        return is_over

    def end(self) -> None:
        if self._opened is None and self._recorder.stop_reason is None:
            ray.wait([self._opening])
            self._open(self._clock.now())
        self._report(self.progress("closing"))

    def progress(self, phase: str) -> CellProgress:
        return self._recorder.progress(phase, self.taken().held_s)

    def taken(self) -> Held:
        """What this process and those before it took."""
        now, before = self._clock.now(), self._journal.before
        held_s = before.held_s + (0.0 if self._opened is None else now - self._opened)
        return Held(
            held_s=min(held_s, self._spec.budget_seconds),
            wall_seconds=before.wall_seconds + now - self._started,
            setup_seconds=before.setup_seconds + self._setup_seconds,
        )

    def _watch_replay(self, now: float) -> None:
        if self._replay.heard > self._heard:
            self._heard, self._heard_at = self._replay.heard, now
        elif now - self._heard_at > REPLAY_PATIENCE_S:
            # Not another history: on a machine that is slow the next process may come further.
            raise TimeoutError(
                f"after {self._heard} lines of the journal nothing was heard for "
                f"{REPLAY_PATIENCE_S:g} s"
            )

    def _is_stuck(self, now: float) -> bool:
        if self._opened is None or self._recorder.stuck is None:
            self._stuck_since = None
            return False
        if self._stuck_since is None:
            self._stuck_since = now
        return now - self._stuck_since >= self._patience_s

    def _open(self, now: float) -> None:
        self._setup_seconds = now - self._started
        try:
            ray.get(self._opening)
            self._opened = now
        except ray.exceptions.RayTaskError as error:
            # A cell that has a past is not failed by a cluster that is busy now.
            if not isinstance(error.cause, EpochError) or self._replay.heard:
                raise
            reason = error.cause.failure.reason
            self._recorder.stop_reason = f"the worker groups did not start: {reason}"
