"""A discrete-event stand-in for Ray's actor manager: actors, their tasks and a heap of events.

Tune's controller takes every decision through this one object. Its methods and their meaning are
those of ``ray.air.execution._internal.RayActorManager`` (Ray 2.60); who calls it and with what is
:mod:`harness.virtual.tune_internals`' affair.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from harness.contract import Config
from harness.ledger import CellAccount
from harness.virtual.clock import VirtualClock
from harness.virtual.trial_actor import Checkpointed, Room, Slot, VirtualTrialActor

Task = Callable[[], None]

IDLE_STEPS_BEFORE_GIVING_UP = 3
"""With nothing under way, Tune may still decide something in its next step or two."""


class TrackedActor:
    """What the controller holds of an actor. ``trial`` and ``config``: what it is to begin with."""

    def __init__(self, trial: int, config: Config, on_start: Any, on_stop: Any) -> None:
        self.trial, self.config = trial, config
        self.on_start, self.on_stop = on_start, on_stop
        self.is_started = False
        self.busy_until_s = 0.0
        self.task_generation = 0

    def set_on_stop(self, on_stop: Any) -> None:
        self.on_stop = on_stop

    def set_on_error(self, on_error: Any) -> None:
        """Virtual actors do not die."""


class VirtualActorManager:
    """See the module.

    Args:
        slots: one live actor at a time has each.
        budget_s: nothing happens after it.
        make_checkpoint: what a save gives to Tune, from what the checkpoint holds.
        read_checkpoint: the inverse.
    """

    def __init__(
        self,
        clock: VirtualClock,
        slots: Sequence[Slot],
        room: Room,
        budget_s: float,
        make_checkpoint: Callable[[Checkpointed], Any],
        read_checkpoint: Callable[[Any], Checkpointed],
    ) -> None:
        self._clock, self._room, self._budget_s = clock, room, budget_s
        self._slots = slots
        self._free = list(reversed(slots))
        self._make_checkpoint, self._read_checkpoint = make_checkpoint, read_checkpoint
        self._events: list[tuple[float, int, Task]] = []
        self._sequence = 0
        self._idle_steps = 0
        self._pending: list[TrackedActor] = []
        self.live: dict[TrackedActor, VirtualTrialActor] = {}
        self.is_over = False
        self.idle_since_s: float | None = None
        """When it turned out that nothing more will happen before the budget's end."""

    # The clock ----------------------------------------------------------------------------------

    def next(self, timeout: float | None = None) -> bool:
        """Let the next event happen; ``False``: there was none, or the budget is spent."""
        if not self._events:
            self._idle_steps += 1
            if self._idle_steps >= IDLE_STEPS_BEFORE_GIVING_UP:
                # Whoever has nothing more to do holds the devices all the same.
                self.idle_since_s = self._clock.now()
                self._end()
            return False
        self._idle_steps = 0
        at_s, _, task = self._events[0]
        if at_s > self._budget_s or self._clock.now() > self._budget_s:
            self._end()
            return False
        heapq.heappop(self._events)
        self._clock.advance_to(at_s)
        task()
        return True

    def _end(self) -> None:
        self._clock.advance_to(self._budget_s)
        self.is_over = True

    def close(self, at_s: float) -> CellAccount:
        """Cut everything at ``at_s``; the cell's account."""
        in_flight = [work for slot in self._slots if (work := slot.cut(at_s)) is not None]
        return CellAccount(at_s, self._room.ledger.charges(), in_flight)

    def _at(self, at_s: float, task: Task) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (at_s, self._sequence, task))

    # Actors -------------------------------------------------------------------------------------

    @property
    def num_pending_actors(self) -> int:
        return len(self._pending)

    @property
    def num_live_actors(self) -> int:
        return len(self.live)

    @property
    def num_total_actors(self) -> int:
        return len(self.live) + len(self._pending)

    @property
    def num_actor_tasks(self) -> int:
        return len(self._events)

    def add(self, trial: int, config: Config, on_start: Any, on_stop: Any) -> TrackedActor:
        """Ask for an actor; it starts when a slot is free for it."""
        tracked = TrackedActor(trial, config, on_start, on_stop)
        self._pending.append(tracked)
        self._start_pending()
        return tracked

    def remove_actor(
        self, tracked_actor: TrackedActor, kill: bool = False, stop_future: Any = None
    ) -> bool:
        """Stop an actor after its task under way, or drop one that still waits (``False``)."""
        if tracked_actor not in self.live:
            self._pending.remove(tracked_actor)
            return False
        if not tracked_actor.is_started:
            tracked_actor.on_start = tracked_actor.on_stop = None
        at_s = max(self._clock.now(), tracked_actor.busy_until_s)

        def stopped() -> None:
            actor = self.live.pop(tracked_actor)
            self._free.append(actor.slot)
            if tracked_actor.on_stop:
                tracked_actor.on_stop(tracked_actor)
            self._start_pending()

        self._at(at_s + self._room.costs.actor_stop_seconds, stopped)
        return True

    def is_actor_started(self, tracked_actor: TrackedActor) -> bool:
        return tracked_actor in self.live

    def is_actor_failed(self, tracked_actor: TrackedActor) -> bool:
        return False

    def _start_pending(self) -> None:
        while self._free and self._pending:
            tracked = self._pending.pop(0)
            actor = VirtualTrialActor(self._free.pop(), self._room)
            actor.begin(tracked.trial, tracked.config)
            self.live[tracked] = actor
            now = self._clock.now()
            delay = self._room.costs.actor_start_seconds if now > 0 else 0.0
            self._at(now + delay, self._starter(tracked))

    def _starter(self, tracked: TrackedActor) -> Task:
        def start() -> None:
            tracked.is_started = True
            if tracked.on_start:
                tracked.on_start(tracked)

        return start

    # Tasks --------------------------------------------------------------------------------------

    def schedule_actor_task(
        self,
        tracked_actor: TrackedActor,
        method_name: str,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        on_result: Callable[..., None] | None = None,
        on_error: Any = None,
        _return_future: bool = False,
    ) -> Any:
        """Have an actor do something after what it does already; a save's future is its value."""
        actor = self.live.get(tracked_actor)
        if actor is None or method_name == "stop":
            return None
        begin_s = max(self._clock.now(), tracked_actor.busy_until_s)
        generation = tracked_actor.task_generation

        def done(value: Any) -> None:
            if on_result is not None and tracked_actor.task_generation == generation:
                on_result(tracked_actor, value)

        if method_name == "train":
            self._train(tracked_actor, actor, begin_s, done)
            return None
        value: Any = None
        if method_name == "reset":
            trial, config = args
            actor.begin(trial, config)
            seconds, value = self._room.costs.reset_seconds, True
        elif method_name == "save":
            seconds, saved = actor.save()
            value = self._make_checkpoint(saved)
        elif method_name == "restore":
            seconds = actor.restore(self._read_checkpoint(args[0]))
        else:
            raise NotImplementedError(f"the virtual executor has no {method_name!r}")
        tracked_actor.busy_until_s = begin_s + seconds
        self._at(begin_s + seconds, lambda: done(value))
        return value

    def _train(
        self,
        tracked: TrackedActor,
        actor: VirtualTrialActor,
        begin_s: float,
        done: Callable[[Any], None],
    ) -> None:
        started_s = begin_s + self._room.costs.epoch_gap_seconds
        if started_s >= self._budget_s:
            tracked.busy_until_s = float("inf")
            return
        step = actor.train(started_s)
        tracked.busy_until_s = step.reported_s
        self._at(step.reported_s, lambda: done(step.close()))

    def clear_actor_task_futures(self, tracked_actor: TrackedActor) -> None:
        """Nobody will hear of the tasks under way; their time passes all the same."""
        tracked_actor.task_generation += 1
