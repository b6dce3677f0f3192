"""The only module of the virtual executor that touches Ray Tune's private parts (Ray 2.60).

:class:`VirtualController` is Tune's ``TuneController`` with another actor manager and without what
would look at real time, real actors or disks. :class:`FastController` also leaves out work that
no decision depends on: look-ups of the trainable's name, deep copies, a folder and a JSON state
per trial, statistics of every metric, walks over finished trials. Both must give the same events;
``tests/harness/test_virtual_internals.py`` compares them, and names what moved when Ray changes.
"""

from __future__ import annotations

import bisect
import contextlib
import copy
import itertools
import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, MutableSet
from dataclasses import dataclass
from typing import Any, TypeVar
from unittest import mock

import numpy as np
from pyarrow.fs import FileInfo, FileType
from ray import tune
from ray.train._internal import storage
from ray.train._internal.session import _FutureTrainingResult, _TrainingResult
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Experiment, Trial, config_parser
from ray.tune.registry import register_trainable
from ray.tune.result import STDERR_FILE, STDOUT_FILE, TRIAL_INFO
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler
from ray.tune.schedulers.async_hyperband import _Bracket
from ray.tune.search import SearchAlgorithm, Searcher, SearchGenerator
from ray.tune.search.basic_variant import BasicVariantGenerator
from ray.tune.search.sample import Domain
from ray.tune.search.util import _set_search_properties_backwards_compatible
from ray.tune.utils.util import flatten_dict

from harness.contract import Config
from harness.tuning.names import trial_ids, trial_namer, trial_number
from harness.virtual.actor_manager import TrackedActor, VirtualActorManager
from harness.virtual.trial_actor import Checkpointed
from strategies.generations import GenerationalPBT

T = TypeVar("T")

TRAINABLE = "harness-virtual-trial"

LIVE_TRIALS_SUFFICE = (FIFOScheduler, AsyncHyperBandScheduler, GenerationalPBT)
"""Schedulers of whom it is known that they never look at a finished trial in ``get_trials``."""


class OrderedSet(MutableSet[T]):
    """A set that remembers the order of its items and pops the oldest.

    Tune keeps trials in sets, whose order depends on the hashes of random trial ids.
    """

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = dict.fromkeys(items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: T) -> None:
        self._items[item] = None

    def discard(self, item: T) -> None:
        self._items.pop(item, None)

    def pop(self) -> T:
        for item in self._items:
            del self._items[item]
            return item
        raise KeyError("pop from an empty set")


class _VirtualTrainable(tune.Trainable):
    """Stands for the trainable's name; never built."""


class _SlotRequest(tune.PlacementGroupFactory):
    """One request for all trials, compared by identity and never copied."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> _SlotRequest:
        return self


class _Files:
    """The file system of virtual checkpoints: Tune deletes a trial's older ones through it."""

    def __init__(self) -> None:
        self.kept: dict[str, Checkpointed] = {}

    def get_file_info(self, path: str) -> FileInfo:
        return FileInfo(path, FileType.Directory)

    def delete_dir(self, path: str) -> None:
        del self.kept[path]


@dataclass(frozen=True)
class _Checkpoint:
    """What Tune holds of a checkpoint."""

    path: str
    filesystem: _Files


class Checkpoints:
    """Virtual checkpoints as Tune's results, and back."""

    def __init__(self) -> None:
        self._files = _Files()
        self._numbers = itertools.count()

    def make(self, saved: Checkpointed) -> Any:
        path = f"checkpoint-{next(self._numbers)}"
        self._files.kept[path] = saved
        metrics = {"training_iteration": saved.epoch, "time_total_s": saved.time_total_s}
        return _TrainingResult(_Checkpoint(path, self._files), metrics)

    def read(self, result: Any) -> Checkpointed:
        return self._files.kept[result.checkpoint.path]


class _Saved(_FutureTrainingResult):
    """A save that is known at once; Ray's own asks the object store for it."""

    def resolve(self, block: bool = True) -> Any:
        return self.future


class _Remote:
    """``actor.method.remote()`` that gives nothing."""

    def remote(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {}


class _RayActor:
    """What Tune asks of an actor's handle."""

    get_auto_filled_metrics = _Remote()


class _Live:
    """Ray's map from a live actor to its handle and resources."""

    _handle = _RayActor()

    def __getitem__(self, tracked: TrackedActor) -> tuple[_RayActor, None]:
        return self._handle, None


class TuneActorManager(VirtualActorManager):
    """:class:`VirtualActorManager` in the shape in which Tune calls Ray's."""

    _live_actors_to_ray_actors_resources = _Live()

    def add_actor(
        self,
        cls: Any,
        resource_request: Any,
        kwargs: dict[str, Any],
        on_start: Any = None,
        on_stop: Any = None,
        on_error: Any = None,
    ) -> TrackedActor:
        return self.add(*_what_to_begin(kwargs["config"]), on_start, on_stop)

    def schedule_actor_task(
        self,
        tracked_actor: TrackedActor,
        method_name: str,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        on_result: Callable[..., None] | None = None,
        on_error: Any = None,
        _return_future: bool = False,
    ) -> Any:
        if method_name == "reset" and len(args) == 1:
            args = _what_to_begin(args[0])
        return super().schedule_actor_task(tracked_actor, method_name, args, kwargs, on_result)

    def get_live_actors_resources(self) -> dict[str, float]:
        return {}

    def cleanup(self) -> None:
        """Nothing outlives the process."""


def _what_to_begin(config: dict[str, Any]) -> tuple[int, Config]:
    """The trial's number and its configuration, out of what Tune gives a new or reset trainable."""
    plain = {k: v for k, v in config.items() if k not in (TRIAL_INFO, STDOUT_FILE, STDERR_FILE)}
    return trial_number(config[TRIAL_INFO].trial_name), plain


class _Nothing:
    """Answers every call with nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


class _SameClass:
    def get(self, trainable_cls: type) -> type:
        return trainable_cls


class VirtualController(TuneController):
    """Tune's controller on virtual actors; see the module."""

    _actor_manager: TuneActorManager

    def __init__(self, manager: TuneActorManager, slots: int, **settings: Any) -> None:
        with mock.patch.dict(os.environ, TUNE_MAX_PENDING_TRIALS_PG=str(slots)):
            super().__init__(
                reuse_actors=True, resource_manager_factory=lambda: _Nothing(), **settings
            )
        self._actor_manager = manager
        self._class_cache = _SameClass()
        self._resource_updater = _Nothing()
        self._insufficient_resources_manager = _Nothing()
        self._pending_trials = OrderedSet[Trial]()
        self._running_trials = OrderedSet[Trial]()
        self._paused_trials = OrderedSet[Trial]()
        self._stopped_trials = OrderedSet[Trial]()
        self._failed_trials = OrderedSet[Trial]()
        self._resetting_trials = OrderedSet[Trial]()
        self._staged_trials = OrderedSet[Trial]()
        self._live_trials = OrderedSet[Trial]()
        self._resources_to_pending_trials: Any = defaultdict(OrderedSet[Trial])

    def _create_checkpoint_manager(self) -> Any:
        return _Nothing()

    def checkpoint(self, force: bool = False, wait: bool = False) -> None:
        """A cell is never resumed in its middle."""

    def _mark_trial_to_checkpoint(self, trial: Trial) -> None:
        """As above."""

    def _update_trial_queue(self, blocking: bool = False, timeout: int = 600) -> bool:
        """Never blocking: Ray's own sleeps for real until the searcher has a trial."""
        return bool(super()._update_trial_queue(blocking=False))

    def _schedule_trial_save(self, trial: Trial, result: Any = None) -> Any:
        future = super()._schedule_trial_save(trial, result)
        if future is not None:
            trial.temporary_state.saving_to = future = _Saved(future.future)
        return future

    def _cleanup_stopping_actors(self, force_all: bool = False) -> None:
        """Virtual actors do not hang."""


class FastController(VirtualController):
    """:class:`VirtualController` without work that no decision depends on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._wrapper = super()._wrapped()
        inner: Any = getattr(self._scheduler_alg, "wrapped", self._scheduler_alg)
        self._forgets = type(inner) in LIVE_TRIALS_SUFFICE
        for bracket in getattr(inner, "_brackets", ()):
            make_bracket_fast(bracket)
        if type(inner) is AsyncHyperBandScheduler and len(inner._brackets) == 1:
            inner.__class__ = _OneBracketASHA

    def _wrapped(self) -> Any:
        return self._wrapper

    def _maybe_add_actors(self) -> None:
        # No scheduler of those known can choose from nothing.
        if self._pending_trials or self._paused_trials or not self._forgets:
            super()._maybe_add_actors()

    def _cleanup_cached_actors(self, force_all: bool = False) -> None:
        if self._actor_cache.num_cached_objects:
            super()._cleanup_cached_actors(force_all)

    def step(self) -> None:
        self._maybe_update_trial_queue()
        self._maybe_add_actors()
        self._actor_manager.next()
        self._stop_experiment_if_needed()
        self._iteration += 1
        self._cleanup_cached_actors(force_all=False)

    def stop_trial(self, trial: Trial) -> None:
        super().stop_trial(trial)
        if self._forgets and trial.is_finished():
            self._trials.remove(trial)
            self._stopped_trials.discard(trial)

    def _schedule_trial_actor(self, trial: Trial) -> None:
        if self._maybe_reuse_cached_actor(trial):
            return
        tracked = self._actor_manager.add(
            trial_number(str(trial)), trial.config, self._actor_started, self._actor_stopped
        )
        self._trial_to_actor[trial] = tracked
        self._actor_to_trial[tracked] = trial

    def _schedule_trial_reset(self, trial: Trial, new_config: Config, tag: str) -> None:
        trial.config, trial.experiment_tag = new_config, tag
        self._resetting_trials.add(trial)
        args = (trial_number(str(trial)), new_config)
        self._schedule_trial_task(trial, "reset", args, on_result=self._on_trial_reset)

    def _schedule_trial_task(
        self,
        trial: Trial,
        method_name: str,
        args: Any = (),
        kwargs: Any = None,
        on_result: Any = None,
        on_error: Any = None,
        _return_future: bool = False,
    ) -> Any:
        def resolved(tracked: TrackedActor, value: Any) -> None:
            on_result(trial, value)

        return self._actor_manager.schedule_actor_task(
            self._trial_to_actor[trial], method_name, args or (), None, resolved
        )

    def _schedule_trial_train(self, trial: Trial) -> None:
        self._schedule_trial_task(trial, "train", on_result=self._on_training_result)

    def _on_training_result(self, trial: Trial, result: dict[str, Any]) -> None:
        self._process_trial_result(trial, result)
        self._maybe_execute_queued_decision(trial, after_save=False)

    def _process_trial_result(self, trial: Trial, result: dict[str, Any]) -> Any:
        result["trial_id"] = trial.trial_id
        if result["done"]:
            decision = TrialScheduler.STOP
        else:
            decision = self._scheduler_alg.on_trial_result(self._wrapper, trial, result)
        if decision == TrialScheduler.STOP:
            result["done"] = True
        else:
            self._search_alg.on_trial_result(trial.trial_id, result)
        self._callbacks.on_trial_result(
            iteration=self._iteration, trials=self._trials, trial=trial, result=result
        )
        trial.update_last_result(result)
        if not trial.is_saving:
            self._queue_decision(trial, decision)
            return decision
        cached = self._cached_trial_decisions
        if not cached.get(trial.trial_id) or decision in (
            TrialScheduler.PAUSE, TrialScheduler.STOP,
        ):  # fmt: skip
            cached[trial.trial_id] = decision
        return None


class FastTrial(Trial):
    """A trial without a folder, a trainable's look-up, JSON states and metric statistics."""

    def __init__(self, trainable_name: str, **settings: Any) -> None:
        super().__init__(trainable_name, **{**settings, "stub": True})

    @property
    def last_result(self) -> dict[str, Any]:
        result: dict[str, Any] = self.run_metadata.last_result or {"trial_id": self.trial_id}
        return result

    def update_last_result(self, result: dict[str, Any]) -> None:
        # Not by attribute: its `__setattr__` also throws a cached JSON away.
        self.run_metadata.__dict__["last_result"] = result

    def on_checkpoint(self, checkpoint_result: Any) -> None:
        self.run_metadata.checkpoint_manager.register_checkpoint(checkpoint_result)

    def init_local_path(self) -> None: ...

    def invalidate_json_state(self) -> None: ...

    def set_ray_actor(self, ray_actor: Any) -> None:
        self.temporary_state.ray_actor = ray_actor


class _Rung(dict[str, float]):
    """A rung's recorded scores by trial, and in order."""

    def __init__(self, recorded: dict[str, float]) -> None:
        super().__init__(recorded)
        self.in_order = sorted(recorded.values())

    def __setitem__(self, trial_id: str, score: float) -> None:
        if trial_id in self:
            raise NotImplementedError("Ray records a trial once at a rung")
        super().__setitem__(trial_id, score)
        bisect.insort(self.in_order, score)


class _FastBracket(_Bracket):
    """Ray's ASHA bracket that need not sort a whole rung at each arrival."""

    def cutoff(self, recorded: _Rung) -> Any:
        if not recorded:
            return None
        return percentile(recorded.in_order, (1 - 1 / self.rf) * 100)


class _OneBracketASHA(AsyncHyperBandScheduler):
    """Ray's ASHA that need not weigh its only bracket against others."""

    def on_trial_add(self, tune_controller: TuneController, trial: Trial) -> None:
        # What Ray's `numpy.random.choice` takes from the global random state.
        np.random.random_sample()
        self._trial_info[trial.trial_id] = self._brackets[0]


def make_bracket_fast(bracket: Any) -> None:
    """Turn a bracket into one with the same decisions (a subclass of Ray's own is left alone)."""
    if type(bracket) is _Bracket:
        bracket.__class__ = _FastBracket
        bracket._rungs = [(milestone, _Rung(scores)) for milestone, scores in bracket._rungs]


def percentile(in_order: list[float], percent: float) -> float:
    """``numpy.percentile`` of a sorted list of finite numbers, to the last bit (numpy's default
    method ``linear`` and its way of interpolating, ``numpy.lib._function_base_impl._lerp``)."""
    place = (len(in_order) - 1) * (percent / 100)
    below = math.floor(place)
    if below >= len(in_order) - 1:
        return in_order[-1]
    low, high = in_order[below], in_order[below + 1]
    share = place - below
    if share >= 0.5:
        return high - (high - low) * (1 - share)
    return low + (high - low) * share


class _FastSearchGenerator(SearchGenerator):
    """Makes a :class:`FastTrial` of a suggestion without a parser and copies of the experiment."""

    def create_trial_if_possible(self, experiment_spec: dict[str, Any]) -> Trial | None:
        trial_id = Trial.generate_id()
        suggested = self.searcher.suggest(trial_id)
        if suggested == Searcher.FINISHED:
            self._finished = True
            return None
        if suggested is None:
            return None
        self._counter += 1
        config = {**experiment_spec["config"], **copy.deepcopy(suggested)}
        return _fast_trial(
            experiment_spec, config, flatten_dict(suggested), self._counter, trial_id
        )


class _FastVariants:
    """What ``BasicVariantGenerator`` draws from a flat space, without its copies of everything."""

    def __init__(self, searcher: Any, experiment: Experiment) -> None:
        self._random_state = searcher._random_state
        self._prefix = searcher._uuid_prefix
        self._spec = experiment.spec
        self._numbers = itertools.count()

    def __iter__(self) -> _FastVariants:
        return self

    def __next__(self) -> Trial:
        spec, number = self._spec, next(self._numbers)
        config = {
            name: domain.sample(random_state=self._random_state)
            if isinstance(domain, Domain)
            else domain
            for name, domain in spec["config"].items()
        }
        return _fast_trial(spec, config, config, number, f"{self._prefix}{number:05d}")


def _fast_trial(
    spec: dict[str, Any], config: Config, evaluated: Config, number: int, trial_id: str
) -> FastTrial:
    return FastTrial(
        spec["run"],
        config=config,
        trial_id=trial_id,
        evaluated_params=evaluated,
        experiment_tag=str(number),
        placement_group_factory=spec["resources_per_trial"],
        checkpoint_config=spec["checkpoint_config"],
        trial_name_creator=spec["trial_name_creator"],
    )


@contextlib.contextmanager
def patched_tune(scratch: str, is_fast: bool) -> Iterator[None]:
    """Trial ids that are counted, not random; :class:`FastTrial` s, or folders for Ray's own."""
    numbers = itertools.count()
    with contextlib.ExitStack() as patches:
        patches.enter_context(trial_ids(lambda: f"{next(numbers):08d}"))
        if is_fast:
            patches.enter_context(mock.patch.object(config_parser, "Trial", FastTrial))
        else:
            patches.enter_context(
                mock.patch.object(storage, "_get_ray_train_session_dir", lambda: scratch)
            )
        yield


def make_experiment(
    space: Config, keep_checkpoints: int, max_failures: int, storage_path: str
) -> Experiment:
    """The experiment as ``tune.Tuner`` would describe it, with trials without end."""
    register_trainable(TRAINABLE, _VirtualTrainable)
    name_of = trial_namer({})
    return Experiment(
        "tune",
        TRAINABLE,
        config=space,
        num_samples=sys.maxsize,
        resources_per_trial=_SlotRequest([{"CPU": 1.0}]),
        storage_path=storage_path,
        checkpoint_config=tune.CheckpointConfig(num_to_keep=keep_checkpoints),
        trial_name_creator=name_of,
        trial_dirname_creator=name_of,
        max_failures=max_failures,
    )


def make_search_algorithm(
    searcher: Searcher | SearchAlgorithm, experiment: Experiment, is_fast: bool
) -> SearchAlgorithm:
    """A searcher made ready for an experiment, as ``tune.run`` does it."""
    generator = _FastSearchGenerator if is_fast else SearchGenerator
    algorithm = generator(searcher) if isinstance(searcher, Searcher) else searcher
    _set_search_properties_backwards_compatible(
        algorithm.set_search_properties, None, None, {}, **experiment.public_spec
    )
    if not isinstance(algorithm, BasicVariantGenerator):
        algorithm.add_configurations([experiment])
        return algorithm
    if is_fast and type(algorithm) is BasicVariantGenerator and not algorithm._points_to_evaluate:
        algorithm._trial_generator = _FastVariants(algorithm, experiment)
    else:
        algorithm.add_configurations([experiment])
    return algorithm


def make_controller(
    manager: TuneActorManager,
    slots: int,
    experiment: Experiment,
    algorithm: SearchAlgorithm,
    scheduler: TrialScheduler,
    stopper: tune.Stopper,
    callbacks: list[tune.Callback],
    is_fast: bool,
) -> TuneController:
    """Tune's controller on a virtual actor manager."""
    scheduler.set_search_properties(None, None, **experiment.public_spec)
    kind = FastController if is_fast else VirtualController
    return kind(
        manager,
        slots,
        search_alg=algorithm,
        scheduler=scheduler,
        stopper=stopper,
        callbacks=callbacks,
        storage=experiment.storage,
        trial_checkpoint_config=experiment.spec["checkpoint_config"],
    )
