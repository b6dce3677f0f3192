"""Ray's PBT by generations: members wait for each other, and a population that ends is replaced.

Imports Ray: :mod:`strategies.pbt` imports this only when it builds.
"""

from __future__ import annotations

from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import PopulationBasedTraining, TrialScheduler


class GenerationalPBT(PopulationBasedTraining):
    """Synchronous PBT in which every ``population`` trials in a row are a population of their own.

    A member that has trained for a perturbation interval pauses. When its whole generation has
    come so far, Ray's own exploit and explore act on it, and all go on. Who is ranked against whom,
    and when, is ours, because Ray's two modes do not serve populations that share few slots, end,
    and lose members:

    - asynchronous, a member is ranked as it reports, against scores that are an interval older than
      its own where members take turns, and a strong one that reported early has no checkpoint to
      copy: on one slot most exploits are skipped;
    - synchronous, it waits for every trial of the experiment, finished and fresh ones too, and for
      ever for one that failed as the last.

    Elder generations run first; a fresh one takes only the slots that its elders leave idle.

    Args:
        population: members per generation, at least 2.
        settings: as for Ray's ``PopulationBasedTraining``, without ``synch``.
    """

    _trial_state: dict[Trial, Any]

    def __init__(self, population: int, **settings: Any) -> None:
        super().__init__(synch=True, **settings)
        self._population = population
        self._generations: dict[str, int] = {}
        self._alive: list[Trial] = []

    def generation(self, trial: Trial) -> int:
        """The trial's generation, from 0 on, by the order in which trials were added."""
        return self._generations[trial.trial_id]

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        if trial in self._trial_state:
            return  # It is tried again after a failure, and goes on from where it stood.
        self._generations[trial.trial_id] = len(self._generations) // self._population
        self._alive.append(trial)
        super().on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        state, epoch = self._trial_state[trial], result[self._time_attr]
        if epoch - state.last_perturbation_time < self._perturbation_interval:
            return str(TrialScheduler.CONTINUE)
        self._save_trial_state(state, epoch, result, trial)
        return str(TrialScheduler.PAUSE)

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """Perturb the generations that are ready; then the one to run is, of the eldest generation
        with one that can run, the member that has trained least.

        Ray asks at every step of its loop, so a generation goes on as well when the member that it
        waited for has failed.
        """
        self._alive = [trial for trial in self._alive if not trial.is_finished()]
        for number in sorted({self.generation(trial) for trial in self._alive}):
            members = [trial for trial in self._alive if self.generation(trial) == number]
            if self._is_whole(number, tune_controller) and all(map(self._waits, members)):
                self._perturb(members, tune_controller)
        candidates = [
            trial
            for trial in self._alive
            if trial.status in (Trial.PENDING, Trial.PAUSED) and not self._waits(trial)
        ]
        return min(
            candidates,
            key=lambda trial: (self.generation(trial), self._trial_state[trial].last_train_time),
            default=None,
        )

    def _is_whole(self, generation: int, tune_controller: Any) -> bool:
        """Whether no more members will come."""
        added = len(self._generations) - generation * self._population
        return added >= self._population or tune_controller.search_alg.is_finished()

    def _waits(self, trial: Trial) -> bool:
        state = self._trial_state[trial]
        trained = state.last_train_time - state.last_perturbation_time
        return bool(trial.status == Trial.PAUSED and trained >= self._perturbation_interval)

    def _perturb(self, members: list[Trial], tune_controller: Any) -> None:
        """One round of truncation selection (Jaderberg et al. 2017, section 4.1.1)."""
        everyone = self._trial_state
        self._trial_state = {trial: everyone[trial] for trial in members}
        try:
            lower, upper = self._quantiles()
        finally:
            self._trial_state = everyone
        middle = [trial for trial in members if trial not in upper and trial not in lower]
        # Ray notes a strong member's checkpoint before a weak one may copy it.
        for trial in [*upper, *middle, *lower]:
            state = everyone[trial]
            state.last_perturbation_time = state.last_train_time
            self._checkpoint_or_exploit(trial, tune_controller, upper, lower)
