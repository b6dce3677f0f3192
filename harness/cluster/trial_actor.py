"""Tune's trainable: it leases a warm worker group and has it train one epoch per step."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray import tune

from harness.clock import MonotonicClock
from harness.cluster.journal import Failed, Reported
from harness.cluster.messages import (
    CellOverError,
    EpochCommand,
    EpochError,
    EpochResult,
    Progress,
)
from harness.cluster.states import TrialStates
from harness.cluster.storage import Storage
from harness.cluster.turns import Turn
from harness.contract import Config
from harness.contract.records import Kind, Parent
from harness.ledger import Charge
from harness.tuning.names import trial_number
from harness.tuning.results import (
    CUT,
    EXTRA,
    FAILED,
    MAX_DEATHS,
    MAX_RETRIES,
    EpochExtra,
    Failure,
    missing_metric,
)

STATE_FILE, ORIGIN_FILE = "state.pt", "origin.json"


class TrialActor(tune.Trainable):
    """With ``reuse_actors=True`` one of these serves trial after trial on the same group.

    A trial that it takes over from an actor that died, or from a process that was killed, goes on
    from its newest state that is left; epochs that were reported after it are trained again, as
    ``lost`` time, and not reported again.
    """

    _must_start: bool
    _state: bytes | None
    """``None``: it did not survive."""
    _reports: int
    """How many of its trial's reports ``_state`` has behind it."""
    _progress: Progress | None
    """How far the trial was when this actor took it over; ``None``: not known yet."""
    _reported: int
    """How many reports the trial has made."""
    _failures: int
    _deaths: int
    _parent: Parent | None

    def setup(
        self,
        config: Config,
        *,
        pool: Any,
        training_seed: int,
        metric: str,
        states: Storage,
        keep_saved: int,
    ) -> None:
        """``states``: where trials' states are kept; ``keep_saved``: as of TrialStates."""
        self._pool, self._training_seed, self._metric = pool, training_seed, metric
        self._states_storage, self._keep_saved = states, keep_saved
        self._clock = MonotonicClock()
        self._overhead: list[Charge] = []
        myself = ray.get_runtime_context().current_actor
        self._slot: int = ray.get(pool.acquire.remote([myself]))
        self._begin(config)

    def reset_config(self, new_config: Config) -> bool:
        self._states.close(self._reports)
        self._begin(new_config)
        return True

    def step(self) -> dict[str, Any]:
        failures: list[Failure] = []
        while True:
            try:
                if self._progress is None and (again := self._look_back()) is not None:
                    return again
                return self._train(failures)
            except CellOverError:
                return {"done": True, CUT: True, self._metric: float("nan")}
            except EpochError as error:
                # Handled here, because Tune would start a new actor each time: seconds of idle
                # devices, where a failed epoch leaves the worker group in working order.
                failures.append(error.failure)
                self._must_start = True
                # Without its state it would begin anew, under the name of what it had learnt.
                if self._state is None or not self._may_retry(error.failure):
                    return self._failed(failures)

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        started = self._clock.now()
        folder = Path(checkpoint_dir)
        if self._progress is None:
            # Told again what it had saved: where it is still needed, it is still there.
            state = self._states.at(self._reports)
            ray.get(self._pool.turn_to_save.remote(self._trial_number))
        else:
            state = self._state
            assert state is not None
            self._states.save(self._reports, state)
        if state is not None:
            (folder / STATE_FILE).write_bytes(state)
        origin = {
            "trial": self._trial_number,
            "epoch": self.iteration,
            "reports": self._reports,
            "failures": self._failures,
        }
        (folder / ORIGIN_FILE).write_text(json.dumps(origin))
        if self._last_result:
            # Tune keeps a checkpoint's last result: it must not keep the state's bytes alive.
            self._last_result.pop(EXTRA, None)
        if self._progress is not None:
            self._note("checkpoint", started)

    def load_checkpoint(self, checkpoint: str) -> None:
        started = self._clock.now()
        folder = Path(checkpoint)
        state = folder / STATE_FILE
        self._state = state.read_bytes() if state.exists() else None
        origin = json.loads((folder / ORIGIN_FILE).read_text())
        if origin["trial"] == self._trial_number:
            self._failures, self._reports = origin["failures"], origin["reports"]
        else:
            self._parent = Parent(trial=origin["trial"], epoch=origin["epoch"])
        self._note("restore", started)

    def cleanup(self) -> None:
        self._states.close(self._reports)
        ray.get(self._pool.release.remote(self._slot))

    def is_alive(self) -> bool:
        return True

    def _begin(self, config: Config) -> None:
        self._trial_config = dict(config)
        self._trial_number = trial_number(self.trial_name)
        self._states = TrialStates(self._states_storage, self._trial_number, self._keep_saved)
        self._must_start = True
        self._state, self._reports = b"", 0
        self._progress = None
        self._parent = None
        self._failures = self._deaths = 0

    # Taking over --------------------------------------------------------------------------------

    def _look_back(self) -> dict[str, Any] | None:
        """The trial's next answer of the past, or ``None`` once it has no more."""
        turn: Turn | Progress = ray.get(self._pool.look_back.remote(self._trial_number))
        if isinstance(turn, Progress):
            self._take_over(turn)
            return None
        self._overhead.clear()  # What was read and written to be told again is none of the cell's.
        answer = turn.answer
        if isinstance(answer, Failed):
            return self._failed(answer.failures)
        self._failures += sum(not failure.is_death for failure in answer.failures)
        # Not counted on from where this actor began: it knows neither the reports before an
        # exploit, nor those that another actor of the trial made after its last checkpoint.
        self._state, self._reports = None, turn.reports + 1
        self._iteration = answer.epoch - 1  # Tune counts this step.
        return self._report(answer, [], answer.failures)

    def _take_over(self, progress: Progress) -> None:
        """Find the newest state that is left, and how many epochs are behind it.

        Raises:
            EpochError: there is none, or actors die under this trial again and again.
        """
        if self._parent is None and self._reports > progress.reports:
            # Tune has its checkpoint, and so has heard of that epoch, if the pool has not yet.
            progress = replace(progress, reports=self._reports, epoch=self.iteration)
        self._progress, self._reported = progress, progress.reports
        self._deaths = progress.deaths
        if self._deaths > MAX_DEATHS:
            raise EpochError(f"its actors died {self._deaths} times in a row", is_death=True)
        if self._parent is not None and self._parent != progress.parent:
            self._reports = self._reported  # An exploit that has just happened.
        else:
            if self._parent is not None:
                self._reports, self._parent = progress.parent_at, None
            # A new actor of Tune's counts from its checkpoint, or from 0.
            self._iteration = progress.epoch
            if self._state is None:
                self._reports = 0 if progress.parent is None else progress.parent_at
                self._state = b"" if progress.parent is None else None
            newer = self._states.newest(self._reports, self._reported)
            if newer is not None:
                self._reports, self._state = newer
        if self._state is None:
            raise EpochError("its state did not survive a kill")

    # Training -----------------------------------------------------------------------------------

    def _may_retry(self, failure: Failure) -> bool:
        if failure.is_death:
            self._deaths += 1
            return self._deaths <= MAX_DEATHS
        self._failures += 1
        return self._failures <= MAX_RETRIES

    def _failed(self, failures: list[Failure]) -> dict[str, Any]:
        return {"done": True, FAILED: True, self._metric: float("nan"), EXTRA: failures}

    def _train(self, failures: list[Failure]) -> dict[str, Any]:
        """Have the group train one epoch; ``failures`` are this epoch's attempts before."""
        while self._reports < self._reported:
            self._run(repeats=True)
        result = self._run()
        self._reported, self._deaths = self._reported + 1, 0
        if self._state:
            self._states.keep(self._reports, self._state)
        return self._report(result, result.state_ref, failures)

    def _report(
        self, epoch: EpochResult | Reported, state: list[Any], failures: list[Failure]
    ) -> dict[str, Any]:
        """What Tune is told of an epoch, of now or of the past."""
        parent, self._parent = self._parent, None
        return {
            self._metric: epoch.metrics[self._metric],
            EXTRA: EpochExtra(
                config=self._trial_config,
                metrics=epoch.metrics,
                spans=epoch.spans,
                slot=epoch.slot,
                started_s=epoch.started_s,
                reported_s=epoch.reported_s,
                trial_seconds=epoch.trial_seconds,
                state=state,
                parent=parent,
                failures=failures,
                charges=epoch.charges,
            ),
        }

    def _run(self, repeats: bool = False) -> EpochResult:
        """Train an epoch; ``repeats``: one that was reported before."""
        overhead, self._overhead = self._overhead, []
        command = EpochCommand(
            trial=self._trial_number,
            config=self._trial_config,
            seed=self._training_seed,
            start=self._must_start,
            state_ref=[ray.put(self._state)] if self._must_start and self._state else [],
            overhead=overhead,
            epoch=self.iteration + 1,
            parent=self._parent,
            repeats=repeats,
        )
        try:
            result: EpochResult = ray.get(self._pool.train.remote(self._slot, command))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, CellOverError | EpochError):
                raise error.cause from None
            raise
        if (reason := missing_metric(self._metric, result.metrics)) is not None:
            raise EpochError(reason, at_s=result.reported_s)
        if result.state_ref:
            # Kept here, because the workers that own it may die with the next epoch.
            self._state = ray.get(result.state_ref[0])
        self._must_start = False
        self._reports += 1
        return result

    def _note(self, kind: Kind, started: float) -> None:
        self._overhead.append(Charge(self._trial_number, kind, self._clock.now() - started))
