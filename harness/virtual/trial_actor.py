"""What trial actor, pool and worker loop are on the cluster: one trial at a time on a slot.

Every call computes at once and says how many seconds of the slot it takes.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.contract import Benchmark, Config, EpochCost
from harness.contract.records import Kind, Parent
from harness.ledger import CellLedger, Charge, SlotLedger
from harness.tuning.results import (
    EXTRA,
    FAILED,
    MAX_RETRIES,
    EpochExtra,
    Failure,
    missing_metric,
)
from harness.virtual.costs import Costs
from harness.virtual.seats import Seat, State

Spans = list[tuple[Kind, float]]

LEAST_SHARE_OF_DECLARED = 1e-6
"""Of an epoch's declared cost: with cheaper ones a cell's clock would never come to its end."""


class InFlight(NamedTuple):
    """An epoch under way. ``overhead``: what the trial's actor did before it; ``waiter``: the trial
    that waited in what that leaves over."""

    trial: int
    started_s: float
    overhead: list[Charge]
    waiter: int | None


@dataclass
class Slot:
    """A simulated worker group."""

    index: int
    seat: Seat
    ledger: SlotLedger
    last_trial: int | None = None
    in_flight: InFlight | None = None

    def charge_start(self, work: InFlight) -> None:
        """Account for the time up to the start of an epoch that is over, or cut off."""
        if work.overhead:
            self.ledger.charge_measured(work.started_s, work.overhead, work.waiter)
        else:
            self.ledger.charge_until(work.started_s, work.waiter, "idle")

    def cut(self, at_s: float) -> tuple[int, float] | None:
        """Account for everything until the cell's end; what was in flight, with its seconds."""
        work = self.in_flight
        if work is None or work.started_s >= at_s:
            self.ledger.charge_until(at_s, None, "idle")
            return None
        self.charge_start(work)
        self.ledger.charge_until(at_s, work.trial, "train")
        return work.trial, at_s - work.started_s


@dataclass(frozen=True)
class Room:
    """What all slots of a cell have in common."""

    benchmark: Benchmark
    training_seed: int
    devices_per_slot: float
    fallback_epoch_device_seconds: float
    costs: Costs
    ledger: CellLedger
    looks_ahead: bool = False
    """Whether it can be known what a trial would have come to that was stopped: sessions are light,
    and nothing would have changed its configuration."""


@dataclass(frozen=True)
class Checkpointed:
    """What a checkpoint holds."""

    trial: int
    epoch: int
    failures: int
    time_total_s: float
    state: State


class Step(NamedTuple):
    """One epoch, trained but not yet reported. ``close`` is called at ``reported_s``: it charges
    what is to be charged and gives Tune's result."""

    reported_s: float
    close: Callable[[], dict[str, Any]]


class _Attempt(NamedTuple):
    metrics: dict[str, float]
    spans: Spans
    failure: tuple[str, str] | None


class VirtualTrialActor:
    """See the module; ``slot`` is its own until it stops."""

    def __init__(self, slot: Slot, room: Room) -> None:
        self.slot, self._room = slot, room
        self._overhead: list[Charge] = []
        self._metric = room.benchmark.metric

    def begin(self, trial: int, config: Config) -> None:
        """Turn to a trial."""
        self.trial, self._config = trial, config
        self._must_start = True
        self._state: State | None = None
        self._epoch = 0
        self._failures = 0
        self._time_total_s = 0.0
        self._parent: Parent | None = None

    def train(self, now_s: float) -> Step:
        """Train one epoch, tried again once where it fails."""
        slot, room, trial = self.slot, self._room, self.trial
        waiter = trial if slot.last_trial == trial else None
        slot.in_flight = work = InFlight(trial, now_s, self._overhead, waiter)
        self._overhead = []
        slot.last_trial = trial
        started_s, at_s = now_s, now_s
        failures: list[Failure] = []
        failed_spans: Spans = []
        while True:
            attempt = self._attempt()
            lasted_s = 0.0
            for _, seconds in attempt.spans:
                lasted_s += seconds
            at_s += lasted_s
            if attempt.failure is None:
                break
            failures.append(Failure(*attempt.failure, at_s=at_s))
            failed_spans += attempt.spans
            self._failures += 1
            self._must_start = True
            if self._failures > MAX_RETRIES:
                break
            started_s = at_s
        self._time_total_s += at_s - now_s
        ended = attempt.failure is not None
        spans = attempt.spans
        all_spans = failed_spans if ended else [*failed_spans, *spans] if failures else spans
        result = self._failed_result(failures) if ended else self._result(attempt.metrics)
        parent = self._parent
        if not ended:
            self._parent = None

        def close() -> dict[str, Any]:
            slot.in_flight = None
            slot.charge_start(work)
            slot.ledger.charge_spans(at_s, trial, all_spans)
            if not ended:
                result[EXTRA] = EpochExtra(
                    config=self._config,
                    metrics=attempt.metrics,
                    spans=spans,
                    slot=slot.index,
                    started_s=started_s,
                    reported_s=at_s,
                    trial_seconds=room.ledger.trial_seconds(trial),
                    state=self._state,
                    parent=parent,
                    failures=failures,
                    scores_ahead=self._scores_ahead if room.looks_ahead else None,
                )
            return result

        return Step(at_s, close)

    def save(self) -> tuple[float, Checkpointed]:
        """Write a checkpoint: seconds, and what it holds."""
        seconds = self._room.costs.save_seconds
        self._overhead.append(Charge(self.trial, "checkpoint", seconds))
        state = self._state if self._state is not None else {}
        saved = Checkpointed(self.trial, self._epoch, self._failures, self._time_total_s, state)
        return seconds, saved

    def restore(self, saved: Checkpointed) -> float:
        """Take a checkpoint back; returns the seconds it took."""
        seconds = self._room.costs.restore_seconds
        self._overhead.append(Charge(self.trial, "restore", seconds))
        self._state, self._epoch = saved.state, saved.epoch
        self._time_total_s = saved.time_total_s
        if saved.trial == self.trial:
            self._failures = saved.failures
        else:
            self._parent = Parent(trial=saved.trial, epoch=saved.epoch)
        return seconds

    def _scores_ahead(self) -> Sequence[float] | None:
        """A :data:`harness.tuning.results.ScoresAhead`. Takes no time, and nobody hears of it."""
        left = self._room.benchmark.max_epochs - self._epoch
        try:
            return self.slot.seat.scores_ahead(self._metric, left)
        except Exception:
            return None

    def _attempt(self) -> _Attempt:
        """One try at the next epoch. One that fails takes as long as an epoch is declared to: where
        in the epoch it failed, a session without a clock cannot say."""
        room, seat = self._room, self.slot.seat
        must_start = self._must_start
        metrics: dict[str, float] = {}
        spans: Spans = []
        failure: tuple[str, str] | None = None
        try:
            if must_start or not seat.has(self):
                seat.start(self, self._config, room.training_seed, self._state)
            session = seat.session
            reported = {**session.train_epoch(), **session.evaluate()}
            metrics = {name: float(value) for name, value in reported.items()}
            state = seat.snapshot()
            cost = session.epoch_cost() or EpochCost(room.fallback_epoch_device_seconds)
            spans = self._spans(cost, must_start)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}", traceback.format_exc()
        else:
            if (reason := missing_metric(self._metric, metrics)) is None:
                self._must_start = False
                self._state = state
                self._epoch += 1
                return _Attempt(metrics, spans, None)
            failure = reason, reason
        if not spans:
            spans = [("train", room.fallback_epoch_device_seconds / room.devices_per_slot)]
        return _Attempt(metrics, spans, failure)

    def _spans(self, cost: EpochCost, must_start: bool) -> Spans:
        start = cost.start if must_start else 0.0
        train, evaluate, checkpoint = cost.train, cost.evaluate, cost.checkpoint
        is_valid = train > 0 and start >= 0 and evaluate >= 0 and checkpoint >= 0
        if not (is_valid and math.isfinite(cost.start + train + evaluate + checkpoint)):
            raise ValueError(f"epoch_cost() must give finite device-seconds above 0, not {cost}")
        declared = self._room.fallback_epoch_device_seconds
        if train + evaluate + checkpoint < LEAST_SHARE_OF_DECLARED * declared:
            raise ValueError(
                f"epoch_cost() gives {cost}, less than {LEAST_SHARE_OF_DECLARED:g} of the "
                f"{declared:g} device-seconds that epoch_device_seconds() declares"
            )
        costs, per_slot = self._room.costs, self._room.devices_per_slot
        stretch, pack = 1.0, 0.0
        if cost.is_processor_time:
            stretch, pack = costs.epoch_stretch, costs.pack_seconds
        spans: Spans = [("restore", stretch * start / per_slot)] if start else []
        spans.append(("train", stretch * train / per_slot))
        if evaluate:
            spans.append(("evaluate", stretch * evaluate / per_slot))
        if checkpoint or pack:
            spans.append(("checkpoint", stretch * checkpoint / per_slot + pack))
        return spans

    def _result(self, metrics: dict[str, float]) -> dict[str, Any]:
        return {
            self._metric: metrics[self._metric],
            "training_iteration": self._epoch,
            "time_total_s": self._time_total_s,
            "done": False,
        }

    def _failed_result(self, failures: list[Failure]) -> dict[str, Any]:
        return {
            self._metric: math.nan,
            "training_iteration": self._epoch + 1,
            "time_total_s": self._time_total_s,
            "done": True,
            FAILED: True,
            EXTRA: failures,
        }
