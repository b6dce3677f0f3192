"""The scheduler as the cell sees it: no test scores in, NaN handled, every decision noted."""

from __future__ import annotations

import math
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from harness.contract.records import Decision
from harness.tuning.results import without_extras
from harness.tuning.scores import Scoreboard

_DECISIONS: dict[str, Decision] = {
    TrialScheduler.CONTINUE: "continue",
    TrialScheduler.PAUSE: "pause",
    TrialScheduler.STOP: "stop",
    TrialScheduler.NOOP: "exploit",
}


class RecordingScheduler(TrialScheduler):
    """Delegates to a scheduler and keeps its last decision per trial.

    A diverged trial (NaN or ±inf) is stopped here, since Ray's schedulers never stop a NaN and an
    inf makes ASHA's cutoff NaN. With ``heals`` (PBT: an exploit replaces the weights) it goes on,
    told as the worst finite score so far.
    """

    def __init__(
        self, scheduler: TrialScheduler, metric: str, scores: Scoreboard, heals: bool
    ) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._metric = metric
        self._scores = scores
        self._heals = heals
        self.decisions: dict[str, Decision] = {}

    @property
    def supports_buffered_results(self) -> bool:
        return False

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        return bool(self._scheduler.set_search_properties(metric, mode, **spec))

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        self._scheduler.on_trial_add(tune_controller, trial)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        self._scheduler.on_trial_error(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        score = result[self._metric]
        self._scores.report(score)
        diverged = not math.isfinite(score)
        if diverged and not self._heals:
            self.decisions[trial.trial_id] = "diverged"
            return TrialScheduler.STOP
        told = self._told(result)
        if told is None:
            self.decisions[trial.trial_id] = "continue"
            return TrialScheduler.CONTINUE
        decision: str = self._scheduler.on_trial_result(tune_controller, trial, told)
        self.decisions[trial.trial_id] = _DECISIONS[decision]
        return decision

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        told = self._told(result)
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
        score = self._scores.as_told(result.get(self._metric))
        return None if score is None else {**without_extras(result), self._metric: score}
