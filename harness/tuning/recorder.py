"""Writes a cell's story while it runs: events, the incumbent, how trials ended.

A Tune callback. Tune asks the scheduler first, then this, then acts; so each report is written
with the decision that followed it.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from ray import tune
from ray.tune.experiment import Trial

from harness.cell import CellProgress
from harness.contract import Benchmark
from harness.contract.records import (
    CellStatus,
    ConfigValue,
    Decision,
    Incumbent,
    TrialEnd,
    TrialStatus,
    Unstopped,
)
from harness.limits import SAME_FAILURE
from harness.tuning.event_log import EventLog
from harness.tuning.incumbents import Incumbents, KeepIncumbent
from harness.tuning.names import trial_number
from harness.tuning.results import CUT, EXTRA, FAILED, EpochExtra, Failure, ScoresAhead
from harness.tuning.scheduler import RecordingScheduler
from harness.tuning.searcher import ToldSearcher
from harness.tuning.watchdog import why_stuck

_ENDS: dict[str, TrialStatus] = {"stop": "stopped", "finish": "finished", "diverged": "diverged"}


@dataclass
class _Progress:
    """What the recorder remembers of a trial."""

    number: int
    config: dict[str, ConfigValue]
    attempt: int = 0
    epoch: int = 0
    scores: list[float] = field(default_factory=list)
    last_decision: str | None = None
    scores_ahead: ScoresAhead | None = None
    failure: Failure | None = None
    status: TrialStatus | None = None


@dataclass
class TrialCounts:
    """Trials by what they are doing, for the live table."""

    running: int = 0
    paused: int = 0
    ended: Counter[TrialStatus] = field(default_factory=Counter)


class Recorder(tune.Callback):
    """See the module.

    Args:
        folder: the cell's folder; ``events.jsonl`` is written there.
        devices_per_slot: what a slot's second costs in device-seconds.
        slots: how many slots the cell holds.
        max_same_failures: end the cell when so many trials in a row fail alike (0: never).
        max_trials: end the cell when so many trials have ended (``None``: never).
        keep_incumbent: told of each new incumbent.
        is_followed: as of :class:`EventLog`.
    """

    def __init__(
        self,
        folder: Path,
        benchmark: Benchmark,
        scheduler: RecordingScheduler,
        told: ToldSearcher | None,
        *,
        rungs: tuple[int, ...],
        slots: int,
        devices_per_slot: float,
        max_same_failures: int,
        max_trials: int | None,
        keep_incumbent: KeepIncumbent,
        is_followed: bool,
    ) -> None:
        self._folder, self._benchmark = folder, benchmark
        self._scheduler, self._told = scheduler, told
        self._rungs = frozenset(rungs)
        self._slots, self._devices_per_slot = slots, devices_per_slot
        self._max_same_failures, self._max_trials = max_same_failures, max_trials
        self._events = EventLog(folder / "events.jsonl", is_followed=is_followed)
        self._incumbents = Incumbents(benchmark.mode, keep_incumbent)
        self._trials: dict[str, _Progress] = {}
        self._same_failures: tuple[frozenset[str], int] = (frozenset(), 0)
        self.counts = TrialCounts()
        self.epochs = 0
        self.last_report_s = 0.0
        self.saw_cut = False
        self.stuck: str | None = None
        """What :func:`why_stuck` said last."""
        self.stop_reason: str | None = None
        self.stop_status: CellStatus = "failed"

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles its callbacks for ``Tuner.restore``; a cell is never restored, but led
        through its past again, and open files do not pickle."""
        return {}

    # Tune's hooks -------------------------------------------------------------------------------

    def on_trial_start(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        if trial.trial_id not in self._trials:
            number = trial_number(str(trial))
            self._trials[trial.trial_id] = _Progress(number, plain(trial.config))

    def on_trial_result(
        self,
        iteration: int,
        trials: list[Trial],
        trial: Trial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        if CUT in result:
            self.saw_cut = True
            return
        extra = result.pop(EXTRA)
        progress = self._trials[trial.trial_id]
        if FAILED in result:
            *retried, progress.failure = extra
            self._write_retries(trial.trial_id, progress, retried)
            return
        self._write_retries(trial.trial_id, progress, extra.failures)
        decision = self._scheduler.noted.pop(trial.trial_id)
        report = self._report(progress, trial.trial_id, result, extra, decision)
        report["is_incumbent"] = self._incumbents.report(trial.trial_id, report, extra.state)
        self._events.write(to_json(report, inf_nan_mode="strings").decode())
        progress.epoch, progress.config = report["epoch"], report["config"]
        progress.last_decision = decision
        progress.scores.append(report["validation_score"])
        progress.scores_ahead = extra.scores_ahead
        self.epochs += 1
        self.last_report_s = extra.reported_s

    def on_trial_complete(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        progress = self._trials.get(trial.trial_id)
        if progress is None or progress.status is not None:
            return
        if progress.failure is not None:
            self._fail(trial.trial_id, progress, progress.failure)
            return
        status = _ENDS.get(progress.last_decision or "", "cut")
        self._end(trial.trial_id, progress, status, self.last_report_s)
        self._incumbents.ended(trial.trial_id, failed=False)
        self._same_failures = (frozenset(), 0)

    def on_trial_error(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        self.on_trial_start(iteration, trials, trial)
        self._fail(trial.trial_id, self._trials[trial.trial_id], self.death_of_actor(trial))

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        self.counts.running = sum(trial.status == Trial.RUNNING for trial in trials)
        self.counts.paused = sum(trial.status == Trial.PAUSED for trial in trials)
        self.stuck = why_stuck(trials)

    def epochs_of_trials(self, status: TrialStatus | None = None) -> list[int]:
        """How far each trial came (that ended so)."""
        return [p.epoch for p in self._trials.values() if status in (None, p.status)]

    @property
    def incumbent(self) -> Incumbent | None:
        return self._incumbents.best

    def death_of_actor(self, trial: Trial) -> Failure:
        """Not a failed epoch (that is a result), but the death of a trial's Tune actor."""
        reason = "the trial's Tune actor died"
        log = str(trial.get_error() or reason)
        return Failure(reason, log, self.last_report_s, is_death=True)

    def note_death(self, trial: Trial, death: Failure) -> None:
        """A trial's Tune actor died, and the trial is tried again."""
        self.on_trial_start(0, [trial], trial)
        self._write_retries(trial.trial_id, self._trials[trial.trial_id], [death])

    @property
    def started_trials(self) -> int:
        return len(self._trials)

    def progress(self, phase: str, elapsed_s: float) -> CellProgress:
        """The cell's state for the live table, so many seconds after its start."""
        best, ended = self.incumbent, self.counts.ended
        return CellProgress(
            phase=phase,
            running=self.counts.running,
            paused=self.counts.paused,
            stopped=ended["stopped"],
            finished=ended["finished"],
            failed=ended["failed"] + ended["diverged"],
            epochs=self.epochs,
            held_device_seconds=elapsed_s * self._devices_per_slot * self._slots,
            incumbent=None if best is None else best.validation_score,
            test_of_incumbent=None if best is None else best.test_score,
        )

    # The cell's end -----------------------------------------------------------------------------

    def finish(self, at_s: float) -> None:
        """End the trials that the cell's end cut off, and close the files."""
        for trial_id, progress in self._trials.items():
            if progress.status is None:
                self._end(trial_id, progress, "cut", at_s)
        self._events.close()
        self.counts.running = self.counts.paused = 0

    def epoch_under_way(self, number: int) -> int:
        """The epoch that a trial in flight was training (1 on)."""
        return 1 + max((p.epoch for p in self._trials.values() if p.number == number), default=0)

    # Inside -------------------------------------------------------------------------------------

    def _report(
        self,
        progress: _Progress,
        tune_id: str,
        result: dict[str, Any],
        extra: EpochExtra,
        decision: Decision,
    ) -> dict[str, Any]:
        """A :class:`Report`'s fields; as a dict, because to make and check the model would be most
        of what a virtual epoch costs."""
        benchmark, metrics = self._benchmark, extra.metrics
        epoch = result["training_iteration"]
        scale = self._devices_per_slot
        return {
            "type": "report",
            "trial": progress.number,
            "tune_id": tune_id,
            "attempt": progress.attempt,
            "slot": extra.slot,
            "config": plain(extra.config),
            "epoch": epoch,
            "validation_score": result[benchmark.metric],
            "validation_loss": _optional(metrics, benchmark.loss_metric),
            "train_loss": metrics.get("train_loss"),
            "test_score": _optional(metrics, benchmark.test_metric),
            "started_s": extra.started_s,
            "reported_s": extra.reported_s,
            "spans": [{"kind": kind, "seconds": seconds} for kind, seconds in extra.spans],
            "trial_device_seconds": {k: s * scale for k, s in extra.trial_seconds.items()},
            "held_device_seconds": extra.reported_s * scale * self._slots,
            "decision": decision,
            "rung": epoch if epoch in self._rungs else None,
            "parent": extra.parent,
        }

    def _write_retries(self, tune_id: str, progress: _Progress, failures: list[Failure]) -> None:
        for failure in failures:
            print(
                f"trial {progress.number} failed and is tried again: {failure.log}",
                file=sys.stderr,
            )
            self._end(tune_id, progress, "failed", failure.at_s, failure.reason, retried=True)
            progress.attempt += 1

    def _fail(self, tune_id: str, progress: _Progress, failure: Failure) -> None:
        print(f"trial {progress.number} failed: {failure.log}", file=sys.stderr)
        self._end(tune_id, progress, "failed", failure.at_s, failure.reason)
        self._incumbents.ended(tune_id, failed=True)
        self._count_failure(failure.reason)

    def _end(
        self,
        tune_id: str,
        progress: _Progress,
        status: TrialStatus,
        at_s: float,
        reason: str | None = None,
        *,
        retried: bool = False,
    ) -> None:
        told = self._told.told.get(tune_id) if self._told and status != "cut" else None
        end = TrialEnd(
            trial=progress.number,
            attempt=progress.attempt,
            config=progress.config,
            epoch=progress.epoch,
            status=status,
            retried=retried,
            reason=reason,
            at_s=at_s,
            told_score=told,
            unstopped=self._unstopped(progress) if status == "stopped" else None,
        )
        self._write(end)
        if not retried:
            progress.status = status
            self.counts.ended[status] += 1
            if self.counts.ended.total() == self._max_trials and self.stop_reason is None:
                self.stop_reason = f"the limit of {self._max_trials} trials was reached"
                self.stop_status = "completed"

    def _unstopped(self, progress: _Progress) -> Unstopped | None:
        """What a trial would have come to, its epochs so far included, where that can be known."""
        ahead = progress.scores_ahead() if progress.scores_ahead else None
        if not ahead:
            return None
        better = max if self._benchmark.mode == "max" else min
        finite = filter(math.isfinite, [*progress.scores, *ahead])
        return Unstopped(
            best=better(finite, default=math.nan),
            last=ahead[-1] if math.isfinite(ahead[-1]) else math.nan,
        )

    def _count_failure(self, reason: str) -> None:
        kind = kind_of_failure(reason)
        previous, count = self._same_failures
        count = count + 1 if kind == previous else 1
        self._same_failures = (kind, count)
        if count == self._max_same_failures:
            self.stop_status = "failed"
            self.stop_reason = f"{SAME_FAILURE} {count} times in a row: {reason}"

    def _write(self, line: TrialEnd) -> None:
        self._events.write(line.model_dump_json())


def plain(config: dict[str, Any]) -> dict[str, ConfigValue]:
    """A configuration as JSON has it: numpy's scalars become Python's."""
    return {key: value.item() if hasattr(value, "item") else value for key, value in config.items()}


def _optional(metrics: Mapping[str, float], name: str | None) -> float | None:
    return None if name is None else metrics.get(name)


def kind_of_failure(reason: str) -> frozenset[str]:
    """Its words, less those with a digit: numbers, ids, addresses and the order in which something
    is printed differ from trial to trial where the failure is the same."""
    return frozenset(re.findall(r"\b[^\W\d]+\b", reason))
