"""Ray's PBT with generations: when a population ends, fresh members begin, kept apart from it.

Imports Ray: :mod:`strategies.pbt` imports this only when it builds.
"""

from __future__ import annotations

from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import PopulationBasedTraining


class GenerationalPBT(PopulationBasedTraining):
    """Every ``population`` trials in a row are a population of their own.

    A fresh member at epoch 2 ranked against old ones at epoch 8 would only ever be overwritten by
    them, so members are ranked within their generation. Elder generations run first; a fresh one
    takes only the slots that its elders leave idle, so no device waits for a population's last
    member.

    Args:
        population: members per generation, at least 2.
        settings: as for Ray's ``PopulationBasedTraining``, asynchronous only.
    """

    _trial_state: dict[Trial, Any]

    def __init__(self, population: int, **settings: Any) -> None:
        super().__init__(synch=False, **settings)
        self._population = population
        self._generations: dict[str, int] = {}
        self._reporting: str | None = None

    def generation(self, trial: Trial) -> int:
        """The trial's generation, from 0 on, by the order in which trials were added."""
        return self._generations[trial.trial_id]

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        # A trial that is tried again after a failure is added again and keeps its generation.
        self._generations.setdefault(trial.trial_id, len(self._generations) // self._population)
        super().on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        self._reporting = trial.trial_id
        action: str = super().on_trial_result(tune_controller, trial, result)
        return action

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """The waiting trial of the eldest generation that has trained least."""
        waiting = [
            trial
            for trial in tune_controller.get_trials()
            if trial.status in (Trial.PENDING, Trial.PAUSED)
        ]
        return min(
            waiting,
            key=lambda trial: (self.generation(trial), self._trial_state[trial].last_train_time),
            default=None,
        )

    def _quantiles(self) -> tuple[list[Trial], list[Trial]]:
        """Ray's ranking, shown only the generation of the trial that reports.

        A private method of Ray 2.60's PBT; ``tests/strategies/test_pbt.py`` watches it.
        """
        everyone, mine = self._trial_state, self._generations[self._reporting or ""]
        self._trial_state = {
            trial: state for trial, state in everyone.items() if self.generation(trial) == mine
        }
        try:
            lower, upper = super()._quantiles()
        finally:
            self._trial_state = everyone
        return lower, upper
