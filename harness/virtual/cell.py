"""Runs one cell on the virtual clock, in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.cell import CellProgress, CellSpec
from harness.clock import Clock
from harness.contract import Benchmark, Strategy
from harness.contract.records import CellRecord, Incumbent
from harness.ledger import CellLedger
from harness.tuning.cell_tuning import CellTuning
from harness.tuning.incumbent import write_incumbent
from harness.tuning.results import MAX_RETRIES
from harness.tuning.searcher import SearcherTime
from harness.tuning.stopper import CellStopper
from harness.tuning.watchdog import patience_s, why_stuck
from harness.virtual.clock import VirtualClock
from harness.virtual.costs import Costs
from harness.virtual.searcher_time import FixedTime, RealTime
from harness.virtual.seats import make_seats
from harness.virtual.trial_actor import Room, Slot

PROGRESS_PERIOD_S = 0.5


class _LastIncumbent:
    """The recorder's ``keep_incumbent``: written at the end, since the cell is run whole or not."""

    def __init__(self) -> None:
        self.incumbent: Incumbent | None = None
        self.state: Any = None

    def __call__(self, incumbent: Incumbent | None, state: Any) -> None:
        self.incumbent, self.state = incumbent, state


def run_cell(
    spec: CellSpec,
    strategy: Strategy,
    benchmark: Benchmark,
    costs: Costs,
    folder: Path,
    report: Callable[[CellProgress], None],
    real_clock: Clock,
    *,
    is_fast: bool = True,
) -> CellRecord:
    """Run a cell from its start to its cut; its events and incumbent are in ``folder``.

    Seeds this process's global random states. ``is_fast=False`` takes Ray's own, slower way to the
    same events.
    """
    # Late: Ray Tune takes seconds to import.
    from harness.virtual import tune_internals as internals

    clock = VirtualClock()
    kept = _LastIncumbent()
    searcher_time = _searcher_time(spec, costs, clock, real_clock)
    tuning = CellTuning(spec, strategy, benchmark, folder, searcher_time, kept, is_followed=False)
    slots = spec.devices.slots
    ledger = CellLedger()
    room = Room(
        benchmark=benchmark,
        training_seed=spec.seed,
        devices_per_slot=spec.devices.per_slot,
        fallback_epoch_device_seconds=benchmark.epoch_device_seconds(spec.devices.kind),
        costs=costs,
        ledger=ledger,
        looks_ahead=benchmark.light_sessions and not strategy.changes_config,
    )
    seats = make_seats(benchmark, spec.dataset, spec.study.data_seed, slots)
    checkpoints = internals.Checkpoints()
    manager = internals.TuneActorManager(
        clock,
        [Slot(index, seat, ledger.open_slot()) for index, seat in enumerate(seats)],
        room,
        spec.budget_seconds,
        checkpoints.make,
        checkpoints.read,
    )
    recorder = tuning.recorder

    def is_over() -> bool:
        if manager.idle_since_s is not None and recorder.stop_reason is None:
            recorder.stop_reason = why_stuck(controller.get_trials())
        return manager.is_over or recorder.stop_reason is not None

    with tempfile.TemporaryDirectory() as scratch, internals.patched_tune(scratch, is_fast):
        experiment = internals.make_experiment(
            dict(tuning.problem.space) if tuning.searches_by_variants else {},
            tuning.plan.keep_checkpoints,
            MAX_RETRIES,
            scratch,
        )
        algorithm = internals.make_search_algorithm(tuning.searcher, experiment, is_fast)
        controller = internals.make_controller(
            manager, slots, experiment, algorithm, tuning.scheduler, CellStopper(is_over),
            [recorder], is_fast,
        )  # fmt: skip
        reported = real_clock.now()
        while not controller.is_finished():
            controller.step()
            if (now := real_clock.now()) - reported >= PROGRESS_PERIOD_S:
                reported = now
                recorder.on_step_end(0, controller.get_trials())
                report(recorder.progress("running", clock.now()))
    ended_s = min(clock.now(), spec.budget_seconds)
    if manager.idle_since_s is not None and recorder.stop_reason is not None:
        ended_s = min(manager.idle_since_s + patience_s(spec.budget_seconds), ended_s)
    account = manager.close(ended_s)
    recorder.finish(account.ended_s)
    if kept.incumbent is not None:
        write_incumbent(folder, kept.incumbent, _packed(benchmark, kept.state))
    return tuning.record(
        account,
        setup_seconds=costs.setup_seconds,
        wall_seconds=costs.setup_seconds + account.ended_s,
    )


def _searcher_time(
    spec: CellSpec, costs: Costs, clock: VirtualClock, real_clock: Clock
) -> SearcherTime:
    if spec.study.charge_searcher == "measured":
        return RealTime(clock, real_clock)
    return FixedTime(clock, costs.suggestion_seconds)


def _packed(benchmark: Benchmark, state: Any) -> bytes | None:
    """A light session's state is next to nothing, and its configuration says all."""
    if benchmark.light_sessions or state is None:
        return None
    from harness.tuning.states import pack_state

    return pack_state(state)
