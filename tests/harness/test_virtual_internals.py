"""What the virtual executor needs of Ray's private parts, checked by name: what moved when Ray did.

That the fast way and Ray's own give the same events is in ``test_virtual_same_events.py``.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import struct
from collections import defaultdict
from typing import Any
from unittest import mock

import numpy as np
import pytest
import ray
from hypothesis import given
from hypothesis import strategies as st
from ray import tune
from ray.air.execution._internal import RayActorManager
from ray.air.execution._internal.tracked_actor import TrackedActor as RayTrackedActor
from ray.train._internal import storage
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.train._internal.session import _FutureTrainingResult, _TrainingResult
from ray.tune.execution.class_cache import _ActorClassCache
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Experiment, Trial, config_parser
from ray.tune.schedulers.async_hyperband import AsyncHyperBandScheduler, _Bracket
from ray.tune.search import SearchGenerator, util
from ray.tune.search.basic_variant import BasicVariantGenerator, _TrialIterator
from ray.tune.utils.object_cache import _ObjectCache

from harness.virtual import tune_internals
from harness.virtual.actor_manager import TrackedActor
from harness.virtual.trial_actor import Checkpointed
from harness.virtual.tune_internals import (
    Checkpoints,
    FastController,
    FastTrial,
    OrderedSet,
    TuneActorManager,
    VirtualController,
    make_bracket_fast,
    percentile,
)

LAST_SEEN = "Ray 2.60.0"
PROPERTY = "(a property)"

SIGNATURES: dict[tuple[Any, str], str] = {
    (TuneController, "_actor_started"): "self tracked_actor log",
    (TuneController, "_actor_stopped"): "self tracked_actor",
    (TuneController, "_cleanup_cached_actors"): "self force_all",
    (TuneController, "_cleanup_stopping_actors"): "self force_all",
    (TuneController, "_create_checkpoint_manager"): "self",
    (TuneController, "_mark_trial_to_checkpoint"): "self trial",
    (TuneController, "_maybe_add_actors"): "self",
    (TuneController, "_maybe_execute_queued_decision"): "self trial after_save",
    (TuneController, "_maybe_reuse_cached_actor"): "self trial",
    (TuneController, "_maybe_update_trial_queue"): "self",
    (TuneController, "_on_training_result"): "self trial result",
    (TuneController, "_on_trial_reset"): "self trial success",
    (TuneController, "_process_trial_result"): "self trial result",
    (TuneController, "_queue_decision"): "self trial decision",
    (TuneController, "_schedule_trial_actor"): "self trial",
    (TuneController, "_schedule_trial_reset"): "self trial new_config new_experiment_tag",
    (TuneController, "_schedule_trial_save"): "self trial result",
    (TuneController, "_schedule_trial_task"): (
        "self trial method_name args kwargs on_result on_error _return_future"
    ),
    (TuneController, "_schedule_trial_train"): "self trial",
    (TuneController, "_stop_experiment_if_needed"): "self",
    (TuneController, "_update_trial_queue"): "self blocking timeout",
    (TuneController, "_wrapped"): "self",
    (TuneController, "checkpoint"): "self force wait",
    (TuneController, "get_trials"): "self",
    (TuneController, "is_finished"): "self",
    (TuneController, "step"): "self",
    (TuneController, "stop_trial"): "self trial",
    (RayActorManager, "add_actor"): ("self cls kwargs resource_request on_start on_stop on_error"),
    (RayActorManager, "cleanup"): "self",
    (RayActorManager, "clear_actor_task_futures"): "self tracked_actor",
    (RayActorManager, "get_live_actors_resources"): "self",
    (RayActorManager, "is_actor_failed"): "self tracked_actor",
    (RayActorManager, "is_actor_started"): "self tracked_actor",
    (RayActorManager, "next"): "self timeout",
    (RayActorManager, "num_actor_tasks"): PROPERTY,
    (RayActorManager, "num_live_actors"): PROPERTY,
    (RayActorManager, "num_pending_actors"): PROPERTY,
    (RayActorManager, "num_total_actors"): PROPERTY,
    (RayActorManager, "remove_actor"): "self tracked_actor kill stop_future",
    (RayActorManager, "schedule_actor_task"): (
        "self tracked_actor method_name args kwargs on_result on_error _return_future"
    ),
    (RayTrackedActor, "set_on_error"): "self on_error",
    (RayTrackedActor, "set_on_stop"): "self on_stop",
    (Trial, "generate_id"): "cls",
    (Trial, "init_local_path"): "self",
    (Trial, "invalidate_json_state"): "self",
    (Trial, "is_finished"): "self",
    (Trial, "is_saving"): PROPERTY,
    (Trial, "last_result"): PROPERTY,
    (Trial, "on_checkpoint"): "self checkpoint_result",
    (Trial, "set_ray_actor"): "self ray_actor",
    (Trial, "update_last_result"): "self result",
    (Experiment, "public_spec"): PROPERTY,
    (_CheckpointManager, "register_checkpoint"): "self checkpoint_result",
    (_FutureTrainingResult, "__init__"): "self future",
    (_FutureTrainingResult, "resolve"): "self block",
    (_TrainingResult, "__init__"): "self checkpoint metrics",
    (_ActorClassCache, "get"): "self trainable_cls",
    (_ObjectCache, "num_cached_objects"): PROPERTY,
    (_Bracket, "cutoff"): "self recorded",
    (_Bracket, "on_result"): "self trial cur_iter cur_rew",
    (AsyncHyperBandScheduler, "on_trial_add"): "self tune_controller trial",
    (BasicVariantGenerator, "add_configurations"): "self experiments",
    (BasicVariantGenerator, "next_trial"): "self",
    (SearchGenerator, "__init__"): "self searcher",
    (SearchGenerator, "add_configurations"): "self experiments",
    (SearchGenerator, "create_trial_if_possible"): "self experiment_spec",
    (config_parser, "_create_trial_from_spec"): "spec parser trial_kwargs",
    (storage, "_get_ray_train_session_dir"): "",
    (storage, "_delete_fs_path"): "fs fs_path",
    (util, "_set_search_properties_backwards_compatible"): (
        "set_search_properties_func metric mode config spec"
    ),
}
"""What is overridden, called or replaced: the names of its parameters."""

MUST_ACCEPT: dict[Any, str] = {
    TuneController: (
        "search_alg scheduler stopper callbacks storage trial_checkpoint_config reuse_actors "
        "resource_manager_factory"
    ),
    Trial: (
        "trainable_name config trial_id evaluated_params experiment_tag placement_group_factory "
        "checkpoint_config trial_name_creator stub"
    ),
    Experiment: (
        "name run config num_samples resources_per_trial storage_path checkpoint_config "
        "trial_name_creator trial_dirname_creator max_failures"
    ),
}
"""What is given to constructors."""

BODIES: dict[tuple[Any, str], str] = {
    (TuneController, "step"): "bed58371f4f7",
    (TuneController, "on_step_begin"): "f2e7b2d18272",
    (TuneController, "on_step_end"): "7d6139a108de",
    (TuneController, "_maybe_add_actors"): "843746b8d35e",
    (TuneController, "_cleanup_cached_actors"): "9ed5958f0759",
    (TuneController, "_schedule_trial_actor"): "a03baebc76ed",
    (TuneController, "_schedule_trial_reset"): "107d3d5d325c",
    (TuneController, "_schedule_trial_task"): "7ea6b2602d5a",
    (TuneController, "_schedule_trial_train"): "884e07b96089",
    (TuneController, "_on_training_result"): "2d6d7dc8c62a",
    (TuneController, "_process_trial_results"): "8707b1938d27",
    (TuneController, "_process_trial_result"): "331926d49ca8",
    (TuneController, "_update_trial_queue"): "c0c9a5705a56",
    (TuneController, "_schedule_trial_save"): "023662937c8f",
    (Trial, "last_result"): "ed62702b1495",
    (Trial, "update_last_result"): "1275517e3cf7",
    (Trial, "on_checkpoint"): "7873cdecc1af",
    (Trial, "init_local_path"): "5707c6e29d2f",
    (Trial, "set_ray_actor"): "71b12e74a98f",
    (_Bracket, "cutoff"): "ac3b73cfd5c6",
    (_Bracket, "on_result"): "2549af215d7c",
    (AsyncHyperBandScheduler, "on_trial_add"): "9bee066f79fc",
    (SearchGenerator, "create_trial_if_possible"): "0c2deb9e42b7",
    (BasicVariantGenerator, "add_configurations"): "d4e30416c55b",
    (BasicVariantGenerator, "next_trial"): "9c2e20638a51",
    (_TrialIterator, "__next__"): "00a80bc23671",
    (_TrialIterator, "create_trial"): "221636bea21d",
    (config_parser, "_create_trial_from_spec"): "2549963456b3",
}
"""Of what is written again, faster: a digest of the code that it stands for."""

ONLY_TO_EXPORT_MODELS = {"_actor_task_events"}
"""Of the actor manager, what no virtual trial needs."""

UNORDERED = {"_started_actors", "_trials_to_cache"}
"""Sets of the controller that nothing is taken from in their order."""


def moved(thing: Any, name: str, what: str) -> str:
    place = f"{thing.__name__.rsplit('.', 1)[-1]}.{name}"
    return (
        f"{place} moved in Ray {ray.__version__}: {what} (last seen as expected in {LAST_SEEN}). "
        "See what the virtual executor's tune_internals.py and actor_manager.py make of it."
    )


def find(thing: Any, name: str) -> Any:
    found = inspect.getattr_static(thing, name, None)
    assert found is not None, moved(thing, name, "it is no longer there")
    return found


def signature(found: Any) -> str:
    if isinstance(found, property):
        return PROPERTY
    return " ".join(inspect.signature(getattr(found, "__func__", found)).parameters)


@pytest.mark.parametrize(
    ("thing", "name"), SIGNATURES, ids=lambda x: x if isinstance(x, str) else x.__name__
)
def test_signatures(thing: Any, name: str) -> None:
    now, expected = signature(find(thing, name)), SIGNATURES[thing, name]
    assert now == expected, moved(thing, name, f"it takes ({now}), no longer ({expected})")


@pytest.mark.parametrize("thing", MUST_ACCEPT, ids=lambda thing: thing.__name__)
def test_constructors(thing: Any) -> None:
    given = set(MUST_ACCEPT[thing].split())
    unknown = sorted(given - set(inspect.signature(thing).parameters))
    assert not unknown, moved(thing, "__init__", f"it takes no {', '.join(unknown)}")


def digest(found: Any) -> str:
    """Of the code without comments and white space."""
    function: Any = found.fget if isinstance(found, property) else found
    code = inspect.getsource(function)
    code = re.sub(r'"""(.|\n)*?"""', "", re.sub(r"(?m)#.*$", "", code))
    return hashlib.sha256("".join(code.split()).encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("thing", "name"), BODIES, ids=lambda x: x if isinstance(x, str) else x.__name__
)
def test_bodies(thing: Any, name: str) -> None:
    now = digest(find(thing, name))
    assert now == BODIES[thing, name], moved(
        thing, name, f"its code changed; where ours still does the same, note {now!r} in this test"
    )


@pytest.mark.parametrize(
    ("ours", "rays"),
    [
        (VirtualController, TuneController),
        (FastController, TuneController),
        (FastTrial, Trial),
        (tune_internals._FastBracket, _Bracket),
        (tune_internals._Saved, _FutureTrainingResult),
        (tune_internals._SameClass, _ActorClassCache),
        (TrackedActor, RayTrackedActor),
    ],
    ids=lambda kind: kind.__name__,
)
def test_whatever_is_overridden_is_watched(ours: type, rays: type) -> None:
    names = [
        name
        for name, value in vars(ours).items()
        if (inspect.isfunction(value) or isinstance(value, property)) and not name.startswith("__")
    ]
    unwatched = [name for name in names if (rays, name) not in SIGNATURES]
    assert not unwatched, f"add {unwatched} of {rays.__name__} to SIGNATURES"


def test_the_actor_manager_has_all_that_the_controller_asks_of_it() -> None:
    code = inspect.getsource(TuneController)
    used = set(re.findall(r"_actor_manager\.(\w+)", code)) - ONLY_TO_EXPORT_MODELS
    assert {"next", "add_actor", "schedule_actor_task"} <= used, "the controller names it otherwise"
    missing = sorted(name for name in used if not hasattr(TuneActorManager, name))
    assert not missing, moved(TuneController, "_actor_manager", f"it needs {', '.join(missing)}")


def test_the_actor_manager_takes_what_rays_takes() -> None:
    for thing, name in SIGNATURES:
        if thing is RayActorManager and SIGNATURES[thing, name] != PROPERTY:
            ours = set(inspect.signature(getattr(TuneActorManager, name)).parameters)
            assert set(SIGNATURES[thing, name].split()) <= ours, f"{name} takes less than Ray's"


@pytest.fixture
def bare_controller(monkeypatch: pytest.MonkeyPatch) -> TuneController:
    monkeypatch.setenv("TUNE_MAX_PENDING_TRIALS_PG", "1")
    return TuneController(resource_manager_factory=mock.Mock(), storage=mock.Mock())


@pytest.mark.parametrize("kind", [VirtualController, FastController])
def test_attributes_of_the_controller(kind: type, bare_controller: TuneController) -> None:
    own = {"_wrapper", "_forgets"}
    used = set(re.findall(r"(?:self|super\(\))\.(\w+)", inspect.getsource(kind))) - own
    missing = sorted(name for name in used if not hasattr(bare_controller, name))
    assert not missing, moved(TuneController, missing[0], "it is no longer there")


def test_every_set_of_trials_has_an_order(bare_controller: TuneController) -> None:
    """A set in an order of chance would make a cell depend on hashes."""
    with mock.patch.dict("os.environ", TUNE_MAX_PENDING_TRIALS_PG="1"):
        ours = VirtualController(mock.Mock(), 1, storage=mock.Mock())
    for name, value in vars(bare_controller).items():
        if isinstance(value, set) and name not in UNORDERED:
            assert isinstance(vars(ours)[name], OrderedSet), moved(
                TuneController, name, "it is a set, of which nobody knows whether its order matters"
            )
        if isinstance(value, defaultdict) and value.default_factory is set:
            assert isinstance(vars(ours)[name][0], OrderedSet), name


def test_attributes_of_searchers_and_trials() -> None:
    generator = BasicVariantGenerator()
    for name in ("_uuid_prefix", "_random_state", "_points_to_evaluate", "_trial_generator"):
        assert hasattr(generator, name), moved(BasicVariantGenerator, name, "it is gone")
    trial = Trial("x", stub=True)
    for name in ("config", "experiment_tag", "run_metadata", "temporary_state", "trial_id"):
        assert hasattr(trial, name), moved(Trial, name, "it is gone")
    for name in ("saving_to", "restoring_from", "ray_actor"):
        assert hasattr(trial.temporary_state, name), moved(Trial, name, "it is gone")
    assert hasattr(trial.run_metadata, "last_result"), moved(Trial, "last_result", "it is gone")
    assert isinstance(trial.run_metadata.checkpoint_manager, _CheckpointManager)
    assert _FutureTrainingResult("value").future == "value"


def test_a_brackets_rungs() -> None:
    bracket = _Bracket(min_t=1, max_t=9, reduction_factor=3, s=0)
    assert bracket.rf == 3 and bracket._rungs == [(9, {}), (3, {}), (1, {})]
    assert AsyncHyperBandScheduler(brackets=2, max_t=9)._brackets[0]._rungs


def test_older_checkpoints_are_deleted_as_tune_does_it() -> None:
    checkpoints = Checkpoints()
    manager = _CheckpointManager(checkpoint_config=tune.CheckpointConfig(num_to_keep=2))
    made = [checkpoints.make(Checkpointed(0, epoch, 0, 1.5, {"w": epoch})) for epoch in range(5)]
    for result in made:
        manager.register_checkpoint(result)
    assert manager.latest_checkpoint_result is made[-1]
    assert [checkpoints.read(result).epoch for result in made[-2:]] == [3, 4]
    for result in made[:-2]:
        with pytest.raises(KeyError):
            checkpoints.read(result)


# What replaces parts of Ray and numpy -----------------------------------------------------------

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCORES = st.lists(FINITE | st.sampled_from([0.0, -0.0, 0.5, 1e308, -1e308, 5e-324]), min_size=1)


def bits(number: float) -> bytes:
    """0 is −0 here: which of two equal scores comes first is nothing that a decision sees."""
    return b"nan" if math.isnan(number) else struct.pack("d", number + 0.0)


@given(SCORES, st.floats(0.0, 100.0) | st.sampled_from([(1 - 1 / rf) * 100 for rf in (2, 3, 4)]))
def test_percentile_is_numpys_to_the_last_bit(scores: list[float], percent: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(np.nanpercentile(scores, percent))
    assert bits(percentile(sorted(scores), percent)) == bits(expected)


@given(st.lists(FINITE), st.sampled_from([2, 2.5, 3, 4]))
def test_a_fast_bracket_decides_as_rays(scores: list[float], factor: float) -> None:
    rays = _Bracket(min_t=1, max_t=4, reduction_factor=factor, s=0)
    fast = _Bracket(min_t=1, max_t=4, reduction_factor=factor, s=0)
    make_bracket_fast(fast)
    for number, score in enumerate(scores):
        trial = mock.Mock(trial_id=str(number))
        for epoch in (1, 2, 3):
            with np.errstate(all="ignore"):
                expected = rays.on_result(trial, epoch, score)
            assert fast.on_result(trial, epoch, score) == expected


def test_another_bracket_is_left_alone() -> None:
    class Other(_Bracket):
        """Somebody's own, which may look at its rungs otherwise."""

    bracket = Other(min_t=1, max_t=4, reduction_factor=2, s=0)
    make_bracket_fast(bracket)
    assert type(bracket) is Other


@given(st.lists(st.tuples(st.sampled_from(["add", "discard", "pop", "remove"]), st.integers(0, 9))))
def test_an_ordered_set_is_a_set_that_pops_the_oldest(steps: list[tuple[str, int]]) -> None:
    ours: OrderedSet[int] = OrderedSet([3, 1])
    order = [3, 1]
    for step, item in steps:
        if step == "add":
            ours.add(item)
            order += [item] if item not in order else []
        elif step == "discard":
            ours.discard(item)
            order = [one for one in order if one != item]
        elif step == "remove" and item in order:
            ours.remove(item)
            order.remove(item)
        elif step == "remove":
            with pytest.raises(KeyError):
                ours.remove(item)
        elif order:
            assert ours.pop() == order.pop(0)
        else:
            with pytest.raises(KeyError):
                ours.pop()
        assert list(ours) == order and len(ours) == len(order) and bool(ours) == bool(order)
        assert ours == set(order) and ours | {11} == {*order, 11}
        assert all((item in ours) == (item in order) for item in range(10))


def test_choosing_the_only_bracket_takes_as_much_from_the_random_state() -> None:
    states = []
    for draw in (lambda: np.random.choice(1, p=[1.0]), np.random.random_sample):
        np.random.seed(5)
        draw()
        states.append(np.random.random_sample(3).tolist())
    assert states[0] == states[1]
