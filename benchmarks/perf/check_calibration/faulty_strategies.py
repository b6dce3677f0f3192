"""The default strategies with a fault each, as a real mistake would make it: a file for
``--strategy-file``. The name is the healthy strategy's, ``!``, and the fault's.

Faults are planted in the finished plan, so that what the harness refuses by itself (a searcher or
scheduler built for the wrong direction, say) gets by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import optuna
from ray.tune.experiment import Trial
from ray.tune.schedulers import AsyncHyperBandScheduler, TrialScheduler
from ray.tune.search.optuna import OptunaSearch

from harness.contract import Plan, Problem, Strategy
from strategies import hyperopt_asha, optuna_asha, optuna_fifo, pbt, random_asha
from strategies.asha import asha
from strategies.generations import GenerationalPBT
from strategies.searchers import random_search

CONCURRENCY_FACTOR = 4
LONG_GRACE_EPOCHS = 3


class _ForgetfulOptuna(OptunaSearch):
    """Is told of no trial's end, so that its model never has a point."""

    def on_trial_complete(self, *args: Any, **kwargs: Any) -> None:
        pass


class _NegatedOptuna(OptunaSearch):
    """Takes the worst for the best."""

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        super().on_trial_result(trial_id, {**result, self._metric: -result[self._metric]})

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        turned = result and {**result, self._metric: -result[self._metric]}
        super().on_trial_complete(trial_id, turned, error)


class _UpsideDownASHA(AsyncHyperBandScheduler):
    """Takes the worst for the best. One that is built with the wrong mode is refused before
    anything runs, and ``_metric_op`` alone is set right again by Tune."""

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        return str(super().on_trial_result(tune_controller, trial, self._turned(result)))

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        super().on_trial_complete(tune_controller, trial, self._turned(result))

    def _turned(self, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, self._metric: -result[self._metric]}


class _WeightlessPBT(GenerationalPBT):
    """Copies the configuration of the better trial, and goes on with its own weights."""

    def _exploit(self, tune_controller: Any, trial: Trial, trial_to_clone: Trial) -> None:
        checkpoints = trial.run_metadata.checkpoint_manager
        own = checkpoints._latest_checkpoint_result
        super()._exploit(tune_controller, trial, trial_to_clone)
        checkpoints._latest_checkpoint_result = own


class _UnperturbingPBT(GenerationalPBT):
    """Copies weights and configuration, and leaves the configuration as it is."""

    def _get_new_config(
        self, trial: Trial, trial_to_clone: Trial
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return dict(trial_to_clone.config), {}


def _history_lost(plan: Plan, problem: Problem) -> Plan:
    _inner(plan).__class__ = _ForgetfulOptuna
    return plan


def _seed_lost(plan: Plan, problem: Problem) -> Plan:
    points = plan.settings["initial_points"]
    _inner(plan)._sampler = optuna.samplers.TPESampler(n_startup_trials=points)
    return plan


def _optuna_told_the_negated_score(plan: Plan, problem: Problem) -> Plan:
    _inner(plan).__class__ = _NegatedOptuna
    return plan


def _hyperopt_told_the_negated_score(plan: Plan, problem: Problem) -> Plan:
    _inner(plan).metric_op *= -1
    return plan


def _limit_ignored(plan: Plan, problem: Problem) -> Plan:
    plan.searcher.max_concurrent *= CONCURRENCY_FACTOR
    return plan


def _mode_flipped(plan: Plan, problem: Problem) -> Plan:
    plan.scheduler.__class__ = _UpsideDownASHA
    return plan


def _never_stops(plan: Plan, problem: Problem) -> Plan:
    decide = plan.scheduler.on_trial_result

    def on_trial_result(controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        decide(controller, trial, result)
        is_over = result["training_iteration"] >= problem.max_epochs
        return str(TrialScheduler.STOP if is_over else TrialScheduler.CONTINUE)

    plan.scheduler.on_trial_result = on_trial_result
    return plan


def _weights_not_copied(plan: Plan, problem: Problem) -> Plan:
    plan.scheduler.__class__ = _WeightlessPBT
    return plan


def _never_perturbs(plan: Plan, problem: Problem) -> Plan:
    plan.scheduler.__class__ = _UnperturbingPBT
    return plan


def _inner(plan: Plan) -> Any:
    """The searcher below its concurrency limiter."""
    return plan.searcher.searcher


def _long_grace(problem: Problem, grace_epochs: int = LONG_GRACE_EPOCHS) -> Plan:
    """random/asha with a grace period that is not the default's 1, which there is no way to ignore
    but by a longer one."""
    searcher, settings = random_search(problem)
    scheduler, rungs, more, _ = asha(problem, grace_epochs=grace_epochs)
    return Plan(searcher=searcher, scheduler=scheduler, rungs=rungs, settings=settings | more)


def _with(fault: str, healthy: Strategy, plant: Callable[[Plan, Problem], Plan]) -> Strategy:
    return replace(
        healthy, name=f"{healthy.name}!{fault}", build=partial(_planted, healthy.build, plant)
    )


def _planted(
    build: Callable[[Problem], Plan], plant: Callable[[Plan, Problem], Plan], problem: Problem
) -> Plan:
    return plant(build(problem), problem)


OPTUNA = (optuna_fifo.STRATEGY, optuna_asha.STRATEGY)
HYPEROPT = (hyperopt_asha.STRATEGY,)
ASHA = (random_asha.STRATEGY, optuna_asha.STRATEGY, hyperopt_asha.STRATEGY)
PBT = (pbt.STRATEGY,)

PLANTED: tuple[tuple[str, tuple[Strategy, ...], Callable[[Plan, Problem], Plan]], ...] = (
    ("history-lost", OPTUNA, _history_lost),
    ("seed-lost", OPTUNA, _seed_lost),
    ("score-negated", OPTUNA, _optuna_told_the_negated_score),
    ("score-negated", HYPEROPT, _hyperopt_told_the_negated_score),
    ("limit-ignored", (*OPTUNA, *HYPEROPT), _limit_ignored),
    ("mode-flipped", ASHA, _mode_flipped),
    ("never-stops", ASHA, _never_stops),
    ("weights-not-copied", PBT, _weights_not_copied),
    ("never-perturbs", PBT, _never_perturbs),
)

PATIENT = replace(random_asha.STRATEGY, name="random/asha-patient", build=_long_grace)
IMPATIENT = replace(
    PATIENT, name=f"{PATIENT.name}!grace-ignored", build=partial(_long_grace, grace_epochs=1)
)

# A strategy file's strategies are its module's variables.
globals().update(
    {
        f"{fault} {healthy.name}": _with(fault, healthy, plant)
        for fault, strategies, plant in PLANTED
        for healthy in strategies
    }
)
