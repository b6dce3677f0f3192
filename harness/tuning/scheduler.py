"""The scheduler as the cell sees it: no test scores in, NaN handled, every decision noted."""

from __future__ import annotations

import math
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.result import TRAINING_ITERATION
from ray.tune.schedulers import TrialScheduler

from harness.contract.records import Decision
from harness.tuning.results import CUT, FAILED, without_extras
from harness.tuning.scores import Scoreboard

_DECISIONS: dict[str, Decision] = {
    TrialScheduler.CONTINUE: "continue",
    TrialScheduler.PAUSE: "pause",
    TrialScheduler.STOP: "stop",
    TrialScheduler.NOOP: "exploit",
}


class RecordingScheduler(TrialScheduler):
    """Delegates to a scheduler, ends trials at the epochs cap, and notes each decision.

    A diverged trial (NaN or ±inf) is stopped here, since Ray's schedulers never stop a NaN and an
    inf makes ASHA's cutoff NaN. With ``heals`` (PBT: an exploit replaces the weights) it goes on,
    told as the worst finite score so far.
    """

    def __init__(
        self,
        scheduler: TrialScheduler,
        *,
        metric: str,
        max_epochs: int,
        scores: Scoreboard,
        heals: bool,
    ) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._metric = metric
        self._max_epochs = max_epochs
        self._scores = scores
        self._heals = heals
        self._added: set[str] = set()
        self.noted: dict[str, Decision] = {}
        """Tune's trial id → the last decision; the recorder takes them out."""

    @property
    def wrapped(self) -> TrialScheduler:
        return self._scheduler

    @property
    def supports_buffered_results(self) -> bool:
        return False

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        return bool(self._scheduler.set_search_properties(metric, mode, **spec))

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        # Tune names a trial's folder when it asks for an actor, so a trial that gets a cached actor
        # at once, or that the cell's end leaves waiting, may have none: checkpoints and
        # `Tuner.fit`'s results then raise. No harm in doing it twice.
        trial.init_local_path()
        if trial.trial_id not in self._added:
            self._added.add(trial.trial_id)
            self._scheduler.on_trial_add(tune_controller, trial)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        # A trial whose actor died goes on from where it stood in another one, and the scheduler
        # need not know. Tune has ended it by now, and adds it again at once.
        if trial.status != Trial.ERROR:
            self._scheduler.on_trial_error(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        if CUT in result:
            return TrialScheduler.STOP
        self._scores.report(trial.trial_id, result[self._metric])
        action, self.noted[trial.trial_id] = self._decide(tune_controller, trial, result)
        return action

    def _decide(
        self, tune_controller: Any, trial: Trial, result: dict[str, Any]
    ) -> tuple[str, Decision]:
        at_cap = result[TRAINING_ITERATION] >= self._max_epochs
        if not math.isfinite(result[self._metric]) and (at_cap or not self._heals):
            return TrialScheduler.STOP, "diverged"
        if at_cap:
            # As Tune's own stop criterion does, the cap ends a trial without asking the scheduler,
            # which hears of the result when the trial completes.
            return TrialScheduler.STOP, "finish"
        told = self._told(result)
        if told is None:
            return TrialScheduler.CONTINUE, "continue"
        action: str = self._scheduler.on_trial_result(tune_controller, trial, told)
        return action, _DECISIONS[action]

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        if FAILED in result:
            self._scores.withdraw(trial.trial_id)
            self._scheduler.on_trial_error(tune_controller, trial)
            return
        told = self._told(result) if self._metric in result else None
        if told is None:
            self._scheduler.on_trial_remove(tune_controller, trial)
        else:
            self._scheduler.on_trial_complete(tune_controller, trial, told)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        self._scheduler.on_trial_remove(tune_controller, trial)

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        chosen: Trial | None = self._scheduler.choose_trial_to_run(tune_controller)
        return chosen

    def debug_string(self) -> str:
        return str(self._scheduler.debug_string())

    def save(self, checkpoint_path: str) -> None:
        self._scheduler.save(checkpoint_path)

    def restore(self, checkpoint_path: str) -> None:
        self._scheduler.restore(checkpoint_path)

    def _told(self, result: dict[str, Any]) -> dict[str, Any] | None:
        score = self._scores.as_told(result[self._metric])
        if score is None:
            return None
        told = without_extras(result)
        told[self._metric] = score
        return told
