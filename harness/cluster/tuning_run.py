"""Runs a cell's Tune experiment on its pool of warm worker groups."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

import ray
from ray import tune

from harness.cluster.replay import Replay
from harness.cluster.storage import Storage
from harness.cluster.thinning import Thinning
from harness.cluster.trial_actor import TrialActor
from harness.cluster.usage_statistics import callbacks_uncounted
from harness.tuning.cell_tuning import CellTuning
from harness.tuning.names import trial_ids, trial_namer
from harness.tuning.random_states import own_shuffling
from harness.tuning.stopper import CellStopper


def run_tuner(
    tuning: CellTuning,
    pool: Any,
    storage: Storage,
    is_over: Callable[[], bool],
    replay: Replay,
) -> None:
    """Run a cell's Tune experiment until ``is_over`` or the searcher ends; first through what
    ``replay`` has of its past."""
    spec, plan, slots = tuning.spec, tuning.plan, tuning.spec.devices.slots
    states = storage.child("states")
    os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(slots)
    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = str(10 * spec.budget_seconds + 3600)
    trainable = tune.with_parameters(
        TrialActor,
        pool=pool,
        training_seed=spec.seed,
        metric=tuning.benchmark.metric,
        states=states,
        keep_saved=plan.keep_checkpoints,
    )
    # Trial actors do next to nothing, but exactly one per slot may live at a time. The workers
    # hold all the devices, so what limits the actors is a share of this node's own label.
    share = int(10_000 * 0.9 / slots) / 10_000
    bundle = {"CPU": 0.0, f"node:{ray.util.get_node_ip_address()}": share}
    experiments = storage.child("tune")
    experiments.delete()  # A killed process's.
    callbacks: list[tune.Callback] = [replay, tuning.recorder]
    if not tuning.strategy.changes_config:
        callbacks.append(Thinning(states))
    names: dict[str, str] = {}
    name_of = trial_namer(names)
    tuner = tune.Tuner(
        tune.with_resources(trainable, tune.PlacementGroupFactory([bundle])),
        param_space=dict(tuning.problem.space) if tuning.searches_by_variants else {},
        tune_config=tune.TuneConfig(
            num_samples=-1,
            search_alg=tuning.searcher,
            scheduler=tuning.scheduler,
            reuse_actors=True,
            trial_name_creator=name_of,
            trial_dirname_creator=name_of,
        ),
        run_config=tune.RunConfig(
            # A name of its own: of an experiment that is there, Tune would go on by itself.
            name=uuid.uuid4().hex[:8],
            storage_path=experiments.path,
            storage_filesystem=experiments.filesystem,
            stop=CellStopper(is_over),
            callbacks=callbacks,
            # A trial's actors, which count the deaths themselves, and fail it.
            failure_config=tune.FailureConfig(max_failures=-1),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=plan.keep_checkpoints),
            verbose=0,
        ),
    )
    # Tune makes an id each time that it asks the searcher for a trial, also where it gets none,
    # which is as often as it happens: those do not count.
    with trial_ids(lambda: f"{len(names):08d}"), own_shuffling(), callbacks_uncounted():
        tuner.fit()
