"""The pool of a cell's warm worker groups: one async actor, the cell's only clock.

It starts one Ray Train run per slot, passes commands between trial actors and workers, keeps each
slot's ledger, starts a broken group again, and at the cut ends everything at one moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from harness.clock import Clock, MonotonicClock
from harness.cluster.journal import Line, heard, restore_ledger
from harness.cluster.messages import (
    CellOverError,
    EpochCommand,
    EpochError,
    EpochOutcome,
    EpochResult,
    Progress,
)
from harness.cluster.spec import ClusterSpec
from harness.cluster.storage import Storage
from harness.cluster.train_spec import TrainRunSpec
from harness.cluster.turns import Turn, Turns
from harness.contract import Benchmark
from harness.contract.records import Kind, Parent
from harness.ledger import CellAccount, CellLedger, Charge, NotedAccount, SlotLedger

START_TIMEOUT_S = 900.0
"""How long worker groups may take to start (a cluster may have to add nodes first)."""

ERROR_GRACE_S = 10.0
"""How long the other ranks may go on after one rank's error before the group is replaced."""

STRAGGLER_FACTOR, STRAGGLER_MIN_S = 10.0, 60.0
"""A rank that needs this much longer than the first one hangs: the group is replaced."""


@dataclass
class _Slot:
    """One worker group. ``generation`` counts restarts, so that a late word of a dead one is known
    as such; ``broken_by`` is the trial that made the last restart necessary; ``in_flight_since_s``
    is when ``trial``'s command under way began.

    ``busy``: a command is under way, though it be for an actor that died (``is_for_nobody``) while
    the slot already has another holder. ``unheard``: what the newest report was charged, until Tune
    has heard of it."""

    index: int
    ledger: SlotLedger
    generation: int = -1
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    workers: dict[int, Any] = field(default_factory=dict)
    waiting: dict[int, asyncio.Future[EpochCommand | None]] = field(default_factory=dict)
    outcomes: dict[int, EpochOutcome] = field(default_factory=dict)
    outcome_came: asyncio.Event = field(default_factory=asyncio.Event)
    death: str | None = None
    trial: int | None = None
    broken_by: int | None = None
    in_flight_since_s: float | None = None
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_for_nobody: bool = False
    unheard: list[Charge] = field(default_factory=list)


@dataclass(frozen=True)
class Past:
    """What the processes of a cell before this one left: their journal, and the seconds of all
    slots that they held."""

    lines: Sequence[Line]
    held_s: float


class WorkerPool:
    """See the module. Every public method is called remotely."""

    def __init__(self, slots: int, spec: TrainRunSpec, past: Past | None = None) -> None:
        # Here, for two reasons: it takes seconds, which the cell's process need not spend too; and
        # Ray Train's modules import each other in a circle that only one thread may walk, while
        # the groups are run from several.
        from harness.cluster import train_run

        self._run_worker_group = train_run.run_worker_group
        self._reason_of_death = train_run.reason_of_death
        self._spec = spec
        self._ledger = CellLedger()
        self._notes = [NotedAccount(self._ledger) for _ in range(slots)]
        self._slots = [_Slot(index, SlotLedger(notes)) for index, notes in enumerate(self._notes)]
        self._past = past or Past([], 0.0)
        self._turns = Turns(heard(self._past.lines))
        self._progress: dict[int, Progress] = {}
        self._free = asyncio.Queue[int]()
        self._holders: dict[int, Any] = {}
        self._clock: Clock = MonotonicClock()
        self._origin: float | None = None
        self._opened = asyncio.Event()
        self._over = asyncio.Event()
        self._budget_s = float("inf")
        self._account: CellAccount | None = None
        self._tasks: set[asyncio.Future[None]] = set()
        # The event loop's own executor has too few threads for many slots.
        self._threads = ThreadPoolExecutor(max_workers=4 * slots + 4)

    # The cell's life ----------------------------------------------------------------------------

    async def start(self, budget_s: float | None) -> None:
        """Start every worker group; when all are ready, and the past has been heard again, the
        cell's clock starts where it was (at zero: no past) and will cut the cell at ``budget_s``,
        if it has any. Raises EpochError if a group does not start."""
        for slot in self._slots:
            self._launch(slot)
            self._free.put_nowait(slot.index)
        for slot in self._slots:
            try:
                await asyncio.wait_for(slot.ready.wait(), START_TIMEOUT_S)
            except TimeoutError:
                raise EpochError(
                    f"not ready {START_TIMEOUT_S:g} s after the start; is the cluster busy with "
                    "something else?"
                ) from None
            if slot.death is not None:
                raise EpochError(slot.death)
        await self._turns.over.wait()
        if self._account is not None:
            return
        self._restore_past()
        self._origin = self._clock.now() - self._past.held_s
        if budget_s is not None:
            self._budget_s = budget_s
            left_s = max(budget_s - self._past.held_s, 0.0)
            asyncio.get_running_loop().call_later(left_s, self._cut, budget_s)
        self._opened.set()

    async def is_alive(self) -> bool:
        return True

    async def advance(self, lines: int) -> None:
        """So many lines of the past have been heard again."""
        await self._turns.advance(lines)

    async def reported(self, trial: int, epoch: int, parent: Parent | None) -> None:
        """Tune has heard a trial's report: what the trial's actor alone was told is none yet."""
        self._progress[trial] = self._progress_of(trial).after_report(epoch, parent)
        for slot in self._slots_of(trial):
            slot.unheard = []

    async def actor_died(self, trial: int) -> None:
        """Under a trial that goes on in another actor: what it had trained, or was training, and
        Tune has not heard of is lost."""
        before = self._progress_of(trial)
        self._progress[trial] = replace(before, deaths=before.deaths + 1)
        for slot in self._slots_of(trial):
            slot.is_for_nobody = slot.in_flight_since_s is not None
            unheard, slot.unheard = slot.unheard, []
            self._notes[slot.index].lose(unheard, trial)

    async def close(self) -> CellAccount:
        """End the cell now, unless it has ended before; commands under way end. Before its clock
        has begun, what the past held is all that there is."""
        if self._account is None and self._origin is None:
            self._restore_past()
        self._cut(min(self._now_s(), self._budget_s))
        assert self._account is not None
        return self._account

    def _cut(self, at_s: float) -> None:
        if self._account is not None:
            return
        self._over.set()
        in_flight = []
        for slot in self._slots:
            if slot.in_flight_since_s is not None:
                assert slot.trial is not None
                if not slot.is_for_nobody:
                    in_flight.append((slot.trial, max(at_s - slot.in_flight_since_s, 0.0)))
                kind: Kind = "lost" if slot.is_for_nobody else "train"
                slot.ledger.charge_until(at_s, slot.trial, kind)
            elif slot.ready.is_set():
                slot.ledger.charge_until(at_s, None, "idle")
            else:
                slot.ledger.charge_until(at_s, slot.broken_by, "setup")
            for future in slot.waiting.values():
                future.set_result(None)
            slot.waiting.clear()
        self._account = CellAccount(at_s, self._ledger.charges(), in_flight)

    # Called by trial actors ---------------------------------------------------------------------

    async def look_back(self, trial: int) -> Turn | Progress:
        """A trial's next answer of the past, when its turn has come, or how far the trial is."""
        turn = await self._turns.next(trial)
        return self._progress_of(trial) if turn is None else turn

    async def acquire(self, holder: list[Any]) -> int:
        """Lease a slot to a trial actor. A slot held by a dead actor is taken back."""
        while True:
            with contextlib.suppress(TimeoutError):
                index = await asyncio.wait_for(self._free.get(), timeout=1.0)
                self._holders[index] = holder[0]
                return index
            await self._take_back_from_the_dead()

    async def release(self, index: int) -> None:
        if self._holders.pop(index, None) is not None:
            self._free.put_nowait(index)

    async def train(
        self, index: int, command: EpochCommand, limit_s: float | None = None
    ) -> EpochResult:
        """Have a slot's workers run one command.

        ``limit_s``: a command that no rank has done by then hangs. (A cell's needs none: the cut
        ends it.)

        Raises:
            EpochError: the session raised, or the group died or hung (it is started again).
            CellOverError: the cell was closed meanwhile.
        """
        slot = self._slots[index]
        if not self._opened.is_set():
            # What was read and written before the cell's clock began is not on it.
            command = replace(command, overhead=[])
        await self._unless_over(self._opened.wait())
        await self._unless_over(slot.busy.acquire())
        try:
            return await self._train(slot, command, limit_s)
        finally:
            slot.busy.release()

    async def _train(
        self, slot: _Slot, command: EpochCommand, limit_s: float | None
    ) -> EpochResult:
        dispatched_s = self._now_s()
        is_restarting = not slot.ready.is_set()
        if is_restarting:
            slot.ledger.charge_until(dispatched_s, slot.broken_by, "setup")
        # Waiting between two epochs of one trial is that trial's; between trials it is nobody's.
        waiter = command.trial if slot.trial == command.trial else None
        slot.ledger.charge_measured(dispatched_s, command.overhead, waiter)
        slot.trial = command.trial
        await self._unless_over(slot.ready.wait())
        started_s = self._now_s()
        if is_restarting:
            slot.ledger.charge_until(started_s, slot.broken_by, "setup")
        if slot.death is not None:
            reason = slot.death
            self._replace(slot, reason)
            raise EpochError(reason, at_s=started_s, is_death=True)
        slot.in_flight_since_s, slot.is_for_nobody = started_s, False
        slot.outcomes.clear()
        slot.outcome_came.clear()
        for future in slot.waiting.values():
            future.set_result(command)
        slot.waiting.clear()
        outcomes = await self._unless_over(self._gather(slot, limit_s))
        reported_s = self._now_s()
        slot.in_flight_since_s = None
        spans = _mean_spans(outcomes)
        first = outcomes[0]
        if command.repeats or first.is_death or slot.is_for_nobody:
            slot.ledger.charge_until(reported_s, command.trial, "lost")
        else:
            charges = [Charge(command.trial, kind, seconds) for kind, seconds in spans]
            slot.ledger.charge_measured(reported_s, charges, command.trial)
        if first.error is not None:
            raise EpochError(first.error, _first_log(outcomes), reported_s, first.is_death)
        # Neither a repeated epoch nor one for nobody is a report to write them down with.
        is_report = not command.repeats and not slot.is_for_nobody
        slot.unheard = self._notes[slot.index].take() if is_report else []
        return EpochResult(
            metrics=first.metrics,
            spans=spans,
            state_ref=first.state_ref,
            slot=slot.index,
            started_s=started_s,
            reported_s=reported_s,
            trial_seconds=self._ledger.trial_seconds(command.trial),
            charges=slot.unheard,
        )

    async def turn_to_save(self, trial: int) -> None:
        """Wait until a checkpoint of the past may be there."""
        await self._turns.save(trial)

    # Called by workers --------------------------------------------------------------------------

    async def hello(self, index: int, generation: int, rank: int, handle: list[Any]) -> None:
        """A worker has its session built."""
        slot = self._slots[index]
        if generation == slot.generation:
            slot.workers[rank] = handle[0]

    async def exchange(
        self, index: int, generation: int, rank: int, outcome: EpochOutcome | None
    ) -> EpochCommand | None:
        """A worker hands over its outcome and waits for its next command (``None``: stop)."""
        slot = self._slots[index]
        if generation != slot.generation or self._over.is_set():
            return None
        if outcome is not None:
            slot.outcomes[rank] = outcome
            slot.outcome_came.set()
        future: asyncio.Future[EpochCommand | None] = asyncio.get_running_loop().create_future()
        slot.waiting[rank] = future
        if len(slot.waiting) == self._spec.workers:
            slot.ready.set()
        return await future

    # Inside -------------------------------------------------------------------------------------

    def _slots_of(self, trial: int) -> list[_Slot]:
        """The slots that worked for a trial last."""
        return [slot for slot in self._slots if slot.trial == trial]

    def _progress_of(self, trial: int) -> Progress:
        return self._progress.get(trial, Progress())

    def _now_s(self) -> float:
        return self._past.held_s if self._origin is None else self._clock.now() - self._origin

    def _restore_past(self) -> None:
        ledgers = [slot.ledger for slot in self._slots]
        restore_ledger(self._past.lines, ledgers, self._ledger, self._past.held_s)
        for notes in self._notes:
            notes.take()

    async def _unless_over(self, awaitable: Any) -> Any:
        """Await, but give up the moment the cell is closed."""
        work = asyncio.ensure_future(awaitable)
        over = asyncio.ensure_future(self._over.wait())
        await asyncio.wait({work, over}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if self._over.is_set():
            work.cancel()
            raise CellOverError
        return work.result()

    async def _gather(self, slot: _Slot, limit_s: float | None) -> list[EpochOutcome]:
        """Every rank's outcome of the command under way, or one error outcome for all."""
        started = self._clock.now()
        deadline = None if limit_s is None else started + limit_s
        is_first = True
        while len(slot.outcomes) < self._spec.workers and slot.death is None:
            timeout = None if deadline is None else max(deadline - self._clock.now(), 0.0)
            try:
                await asyncio.wait_for(slot.outcome_came.wait(), timeout)
            except TimeoutError:
                return [self._replace(slot, _straggler_reason(slot.outcomes, self._spec.workers))]
            slot.outcome_came.clear()
            if is_first and slot.outcomes:
                is_first = False
                elapsed = self._clock.now() - started
                failed = any(outcome.error for outcome in slot.outcomes.values())
                patience = max(STRAGGLER_MIN_S, STRAGGLER_FACTOR * elapsed)
                deadline = self._clock.now() + (ERROR_GRACE_S if failed else patience)
        if slot.death is not None:
            return [replace(self._replace(slot, slot.death), is_death=True)]
        outcomes = [slot.outcomes[rank] for rank in range(self._spec.workers)]
        errors = {outcome.error for outcome in outcomes}
        if len(errors) > 1:
            # The ranks parted ways, so their collective calls no longer match.
            reason = next(error for error in errors if error is not None)
            return [replace(self._replace(slot, reason), error_log=_first_log(outcomes))]
        return outcomes

    def _replace(self, slot: _Slot, reason: str) -> EpochOutcome:
        """Kill what is left of a group and start it again; the time is the guilty trial's."""
        slot.broken_by = slot.trial
        for handle in slot.workers.values():
            with contextlib.suppress(Exception):
                ray.kill(handle)
        self._launch(slot)
        return EpochOutcome(error=reason)

    def _launch(self, slot: _Slot) -> None:
        slot.generation += 1
        slot.ready.clear()
        slot.workers, slot.waiting, slot.outcomes, slot.death = {}, {}, {}, None
        pool = ray.get_runtime_context().current_actor
        generation = slot.generation
        name = f"slot-{slot.index}-{generation}-{uuid.uuid4().hex[:8]}"
        task = asyncio.get_running_loop().run_in_executor(
            self._threads,
            self._run_worker_group,
            self._spec,
            name,
            pool,
            slot.index,
            generation,
        )
        self._tasks.add(task)

        def ended(task: asyncio.Future[None]) -> None:
            self._tasks.discard(task)
            if generation == slot.generation and not self._over.is_set():
                error = task.exception()
                slot.death = (
                    self._reason_of_death(error) if error else "the worker group ended by itself"
                )
                slot.outcome_came.set()
                slot.ready.set()

        task.add_done_callback(ended)

    async def _take_back_from_the_dead(self) -> None:
        for index, holder in list(self._holders.items()):
            try:
                await asyncio.wait_for(holder.is_alive.remote(), timeout=0.5)
            except ray.exceptions.RayActorError:
                await self.release(index)
            except TimeoutError:
                continue  # busy with an epoch


def _mean_spans(outcomes: list[EpochOutcome]) -> list[tuple[Kind, float]]:
    """Ranks run the same pieces in the same order; a slot's piece lasts as long as their mean."""
    pieces = [outcome.spans for outcome in outcomes]
    shortest = min(pieces, key=len)
    return [
        (kind, sum(spans[i][1] for spans in pieces) / len(pieces))
        for i, (kind, _) in enumerate(shortest)
    ]


def _first_log(outcomes: list[EpochOutcome]) -> str:
    return next((outcome.error_log for outcome in outcomes if outcome.error_log), "")


def _straggler_reason(outcomes: dict[int, EpochOutcome], workers: int) -> str:
    if not outcomes:
        return f"none of {workers} worker(s) reported in time"
    errors = [outcome.error for outcome in outcomes.values() if outcome.error]
    if errors:
        return errors[0]
    silent = sorted(set(range(workers)) - set(outcomes))
    return f"worker {silent} of {workers} did not report although rank {sorted(outcomes)} had"


def start_pool(
    spec: ClusterSpec,
    benchmark: Benchmark,
    storage: Storage,
    budget_s: float | None,
    past: Past | None = None,
) -> tuple[Any, Any]:
    """Create a pool and let it start its groups; returns the actor and the start's future.

    It lives on this process's node, so that both read the same clock.
    """
    train_spec = TrainRunSpec(
        benchmark=benchmark,
        dataset=spec.dataset,
        data_seed=spec.study.data_seed,
        workers=spec.devices.workers_per_trial,
        device_kind=spec.devices.kind,
        devices_per_worker=spec.devices.devices_per_worker,
        storage=storage.child("train"),
    )
    calls = spec.devices.slots * (spec.devices.workers_per_trial + 4) + 100
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(num_cpus=0, max_concurrency=calls, scheduling_strategy=here)(WorkerPool)
    pool = actor.remote(spec.devices.slots, train_spec, past)
    return pool, pool.start.remote(budget_s)
