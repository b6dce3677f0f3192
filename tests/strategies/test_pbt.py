"""PBT: what it mutates and keeps, and a real run on one slot with more members than slots."""

from __future__ import annotations

import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import ray
from ray import tune
from ray.tune.schedulers import PopulationBasedTraining
from ray.tune.schedulers.pbt import _explore, _PBTTrialState

from harness.contract import Plan, Problem, UsageError
from strategies.pbt import (
    STRATEGY,
    build,
    clip_config,
    mutable_domains,
    perturbation_interval,
    population_size,
)
from tests.strategies.problems import make_problem


@pytest.mark.parametrize(
    ("budget_epochs", "slots", "population"),
    [
        (9, 1, 4),
        (50, 1, 5),
        (50, 2, 4),
        (99, 2, 10),
        (36, 3, 6),
        (9_000, 1, 32),
        (9_000, 5, 30),
        (9_000, 64, 64),
    ],
)
def test_the_population_fits_budget_and_slots(
    budget_epochs: int, slots: int, population: int
) -> None:
    problem = make_problem(budget_epochs=budget_epochs, slots=slots)
    plan = build(problem)
    assert population_size(problem) == population == plan.settings["population"]
    assert plan.searcher.max_concurrent == population


@pytest.mark.parametrize(("cap", "interval"), [(1, 1), (2, 1), (9, 2), (27, 6), (100, 25)])
def test_the_perturbation_interval_is_a_quarter_of_the_cap(cap: int, interval: int) -> None:
    assert perturbation_interval(cap) == interval
    assert build(make_problem(max_epochs=cap)).keep_checkpoints >= interval + 2


def test_perturbed_values_stay_in_the_space() -> None:
    """Ray multiplies by 1.2 or 0.8 and looks at no bound; ours come back."""
    random.seed(0)
    np.random.seed(0)
    space = {
        "rate": tune.loguniform(1e-4, 1e-1),
        "share": tune.uniform(0.5, 0.6),
        "width": tune.randint(32, 64),
        "depth": tune.randint(1, 5),
        "log": tune.lograndint(1, 1000),
        "batch": tune.choice([32, 64, 128]),
        "flag": tune.choice([True, False]),
    }
    problem = make_problem(space=space, mutable=frozenset(space))
    mutations, clips = mutable_domains(problem)
    left_the_space, changed = False, set()
    config = {name: domain.sample() for name, domain in space.items()}
    for _ in range(1000):
        bare, _ = _explore(config, mutations, 0.25, (1.2, 0.8), None)
        left_the_space |= not 0.5 <= bare["share"] <= 0.6
        new = clip_config(clips, bare)
        for name, domain in space.items():
            assert domain.is_valid(new[name]), (name, new[name])
            assert type(new[name]) is type(config[name]), (name, new[name])
        assert new["width"] < 64 and new["log"] < 1000, "the upper bound is exclusive"
        changed |= {name for name in space if new[name] != config[name]}
        config = new
    assert left_the_space
    assert changed == set(space)


def test_only_mutable_parameters_change() -> None:
    plan = build(make_problem(mutable=frozenset({"lr"})))
    assert plan.settings["mutable"] == ["lr"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mutable": frozenset()}, "declares none"),
        ({"mutable": frozenset({"lr", "typo"})}, "declares typo mutable, but its space has only"),
        *(
            (
                {"space": {"odd": odd}, "mutable": frozenset({"odd"})},
                "cannot perturb parameter 'odd'",
            )
            for odd in (tune.sample_from(lambda: 1), tune.randn(), tune.quniform(0, 1, 0.5), 3)
        ),
    ],
)
def test_what_cannot_be_mutated_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(make_problem(**changes))


def test_warnings() -> None:
    assert build(make_problem(budget_epochs=45)).warnings == ()
    assert "PBT cannot act" in build(make_problem(max_epochs=1)).warnings[0]
    assert "about 2.0 full runs" in build(make_problem(budget_epochs=18)).warnings[0]


def test_capabilities() -> None:
    assert STRATEGY.needs_checkpoints and STRATEGY.changes_config


def test_ray_still_has_what_we_use_of_its_pbt() -> None:
    """Should this fail, Ray has moved what ``GenerationalPBT`` builds upon: read it again."""
    for name in ("_quantiles", "_save_trial_state", "_checkpoint_or_exploit"):
        assert callable(getattr(PopulationBasedTraining, name))
    scheduler = build(make_problem()).scheduler
    assert scheduler._trial_state == {}
    assert (scheduler._time_attr, scheduler._perturbation_interval) == ("training_iteration", 2)
    state = vars(_PBTTrialState(SimpleNamespace(experiment_tag="")))
    assert {"last_score", "last_train_time", "last_perturbation_time"} <= set(state)


class Member:
    """What a scheduler sees of a trial."""

    def __init__(self, number: int) -> None:
        self.trial_id, self.experiment_tag = str(number), str(number)
        self.status, self.config = "PENDING", {"lr": 0.01, "dropout": 0.5}
        checkpoints = SimpleNamespace(checkpoint_config=SimpleNamespace(num_to_keep=9))
        self.run_metadata = SimpleNamespace(checkpoint_manager=checkpoints)

    def is_finished(self) -> bool:
        return self.status in ("TERMINATED", "ERROR")


def test_a_failed_member_keeps_nobody_waiting() -> None:
    """ray#48616: Ray's synchronous PBT waits for ever where the last awaited member fails."""
    scheduler = build(make_problem()).scheduler
    search_alg = SimpleNamespace(is_finished=lambda: False)
    controller = SimpleNamespace(search_alg=search_alg)
    members = [Member(number) for number in range(5)]
    for trial in members:
        scheduler.on_trial_add(controller, trial)
    *waiting, last = members
    for trial in waiting:
        # Equal scores and no checkpoints: what is exploited is not the matter here.
        result = {"training_iteration": 2, "accuracy": 0.5}
        assert scheduler.on_trial_result(controller, trial, result) == "PAUSE"
        trial.status, trial.checkpoint = "PAUSED", None
        trial.temporary_state = SimpleNamespace(saving_to=None)
    assert scheduler.choose_trial_to_run(controller) is last
    last.status = "RUNNING"
    assert scheduler.choose_trial_to_run(controller) is None
    # Tried again, it goes on from where it stood, as a member of its generation.
    scheduler.on_trial_error(controller, last)
    last.status = "PENDING"
    scheduler.on_trial_add(controller, last)
    assert scheduler.generation(last) == 0
    assert scheduler.choose_trial_to_run(controller) is last
    last.status = "ERROR"
    assert scheduler.choose_trial_to_run(controller) is waiting[0]


def test_elders_run_first() -> None:
    scheduler = build(make_problem()).scheduler
    controller = SimpleNamespace(search_alg=SimpleNamespace(is_finished=lambda: False))
    elders, fresh = [Member(number) for number in range(5)], Member(5)
    for trial in [*elders, fresh]:
        scheduler.on_trial_add(controller, trial)
    assert [scheduler.generation(trial) for trial in (*elders, fresh)] == [0, 0, 0, 0, 0, 1]
    assert scheduler.choose_trial_to_run(controller) is elders[0]
    for trial in elders:
        trial.status = "RUNNING"
    assert scheduler.choose_trial_to_run(controller) is fresh


class Toy(tune.Trainable):
    """Its score grows each epoch by what the learning rate is worth; best at 1e-2.

    ``lineage``: whose weights these were, each with the epoch from which it had them.
    """

    def setup(self, config: dict[str, Any]) -> None:
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.config = dict(new_config)
        self.score = 0.0
        self.lineage = [f"{self.trial_name}@0"]
        return True

    def step(self) -> dict[str, Any]:
        self.score += 1.0 - abs(math.log10(self.config["lr"]) + 2) / 5
        return {"accuracy": self.score, "lineage": list(self.lineage), "used": dict(self.config)}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        state = {"score": self.score, "lineage": self.lineage, "epoch": self.iteration}
        (Path(checkpoint_dir) / "state.json").write_text(json.dumps(state))

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        state = json.loads((Path(checkpoint_dir) / "state.json").read_text())
        self.score, self.lineage = state["score"], state["lineage"]
        if member(self.lineage[-1]) != self.trial_name:
            self.lineage = [*self.lineage, f"{self.trial_name}@{state['epoch']}"]


def member(step: str) -> str:
    """The trial's name in a step of a lineage."""
    return step.split("@")[0]


class Reports(tune.Callback):
    """Keeps every report: trial name → [(epoch, result)]."""

    def __init__(self) -> None:
        self.by_trial: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        self.count = 0

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        self.count += 1
        self.by_trial[str(trial)].append((result["training_iteration"], dict(result)))


class AfterReports(tune.Stopper):
    def __init__(self, reports: Reports, most: int) -> None:
        self._reports, self._most = reports, most

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return bool(result["training_iteration"] >= 9)

    def stop_all(self) -> bool:
        return self._reports.count >= self._most


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def _run(plan: Plan, problem: Problem, cpus_per_trial: int, most: int, folder: Path) -> Reports:
    random.seed(problem.seed)
    np.random.seed(problem.seed)
    reports = Reports()
    tune.Tuner(
        tune.with_resources(Toy, {"CPU": cpus_per_trial}),
        param_space=dict(problem.space),
        tune_config=tune.TuneConfig(
            num_samples=-1,
            search_alg=plan.searcher,
            scheduler=plan.scheduler,
            reuse_actors=True,
            trial_name_creator=lambda trial: trial.trial_id.rsplit("_", 1)[1],
        ),
        run_config=tune.RunConfig(
            storage_path=str(folder),
            stop=AfterReports(reports, most),
            callbacks=[reports],
            checkpoint_config=tune.CheckpointConfig(
                num_to_keep=plan.keep_checkpoints, checkpoint_frequency=1
            ),
            failure_config=tune.FailureConfig(fail_fast=True),
            verbose=0,
        ),
    ).fit()
    return reports


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.parametrize("slots", [1, 2])
def test_exploits_bounds_and_refill_for_real(
    slots: int, local_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNE_MAX_PENDING_TRIALS_PG", str(slots))
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    problem = make_problem(slots=slots, budget_epochs=4 * 9.0, mutable=frozenset({"lr", "dropout"}))
    plan = build(problem)
    assert plan.settings["population"] == 4
    reports = _run(plan, problem, 2 // slots, most=42, folder=tmp_path)

    # Two generations and more: a fresh one starts at epoch 1 when its elders are done.
    names = list(reports.by_trial)
    assert len(names) > 4
    assert all(reports.by_trial[name][0][0] == 1 for name in names)
    assert all(reports.by_trial[name][-1][0] == 9 for name in names[:4])

    # One of four is replaced at each of epochs 2, 4, 6 and 8, from within its generation, and goes
    # on from there.
    exploited_at = [
        before
        for name in names[:4]
        for (before, old), (_, new) in pairwise(reports.by_trial[name])
        if new["lineage"] != old["lineage"]
    ]
    assert sorted(exploited_at) == [2, 4, 6, 8]
    for name in names:
        epochs = [epoch for epoch, _ in reports.by_trial[name]]
        assert epochs == list(range(1, len(epochs) + 1))
        for _, result in reports.by_trial[name]:
            assert len({int(member(step)) // 4 for step in result["lineage"]}) == 1
            # Every configuration stays in the space, and only what is mutable changes.
            assert all(problem.space[key].is_valid(v) for key, v in result["used"].items())
            first = reports.by_trial[member(result["lineage"][0])][0][1]["used"]
            assert all(result["used"][key] == first[key] for key in ("width", "depth", "batch"))
