"""Tune's side of a cell: a strategy's searcher and scheduler, wrapped, run and written down."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray import tune
from ray.tune.search.basic_variant import BasicVariantGenerator

from harness.clock import MonotonicClock
from harness.cluster.pool import PoolAccount
from harness.cluster.spec import CellSpec
from harness.cluster.storage import Storage
from harness.cluster.trial_actor import TrialActor, trial_name, trial_number
from harness.contract import Benchmark
from harness.contract.records import CellRecord, CellStatus, InFlight, LedgerRow
from harness.problem import make_problem
from harness.tuning.recorder import Recorder
from harness.tuning.scheduler import RecordingScheduler
from harness.tuning.scores import Scoreboard
from harness.tuning.searcher import told_searcher
from harness.tuning.stopper import CellStopper
from strategies.check import build_plan
from strategies.registry import STRATEGIES


def seed_globals(seed: int) -> None:
    """Seed what Ray's schedulers and ``Domain.sample`` draw from."""
    random.seed(seed)
    np.random.seed(seed)


class TuningRun:
    """One cell's Tune experiment.

    Seeds this process's global random states, which PBT and ASHA draw from: one cell, one process.
    """

    def __init__(self, spec: CellSpec, benchmark: Benchmark, folder: Path) -> None:
        seed_globals(spec.seed)
        self._spec, self._benchmark, self._folder = spec, benchmark, folder
        strategy = STRATEGIES.get(spec.strategy)
        slots = spec.devices.slots
        self._problem = make_problem(benchmark, slots, spec.budget_epochs, spec.seed)
        self._plan = build_plan(strategy, self._problem, benchmark.gives_checkpoints)
        scores = Scoreboard(benchmark.mode)
        self._scheduler = RecordingScheduler(
            self._plan.scheduler,
            metric=benchmark.metric,
            max_epochs=benchmark.max_epochs,
            scores=scores,
            heals=strategy.changes_config,
        )
        self._searcher, self._told = told_searcher(
            self._plan.searcher, benchmark.metric, slots, scores, MonotonicClock()
        )
        self.recorder = Recorder(
            folder,
            benchmark,
            self._scheduler,
            self._told,
            rungs=self._plan.rungs,
            slots=slots,
            devices_per_slot=spec.devices_per_slot,
            max_same_failures=spec.study.max_same_failures,
            trial_number=trial_number,
        )

    def tune(self, pool: Any, storage: Storage, is_over: Callable[[], bool]) -> None:
        """Run until ``is_over`` or the searcher ends."""
        spec, plan, slots = self._spec, self._plan, self._spec.devices.slots
        os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"
        os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(slots)
        os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = str(10 * spec.budget_seconds + 3600)
        trainable = tune.with_parameters(
            TrialActor, pool=pool, training_seed=spec.seed, metric=self._benchmark.metric
        )
        # Trial actors do next to nothing, but exactly one per slot may live at a time. The workers
        # hold all the devices, so what limits the actors is a share of this node's own label.
        share = int(10_000 * 0.9 / slots) / 10_000
        bundle = {"CPU": 0.0, f"node:{ray.util.get_node_ip_address()}": share}
        numbers = itertools.count()
        names: dict[str, str] = {}

        def name_of(trial: Any) -> str:
            if trial.trial_id not in names:
                names[trial.trial_id] = trial_name(next(numbers))
            return names[trial.trial_id]

        is_random = isinstance(plan.searcher, BasicVariantGenerator)
        tuner = tune.Tuner(
            tune.with_resources(trainable, tune.PlacementGroupFactory([bundle])),
            param_space=dict(self._problem.space) if is_random else {},
            tune_config=tune.TuneConfig(
                num_samples=-1,
                search_alg=self._searcher,
                scheduler=self._scheduler,
                reuse_actors=True,
                trial_name_creator=name_of,
                trial_dirname_creator=name_of,
            ),
            run_config=tune.RunConfig(
                name="tune",
                storage_path=storage.path,
                storage_filesystem=storage.filesystem,
                stop=CellStopper(is_over),
                callbacks=[self.recorder],
                failure_config=tune.FailureConfig(max_failures=1),
                checkpoint_config=tune.CheckpointConfig(num_to_keep=plan.keep_checkpoints),
                verbose=0,
            ),
        )
        tuner.fit()

    def record(self, account: PoolAccount, setup_seconds: float, wall_seconds: float) -> CellRecord:
        """The cell's record, once the recorder is finished."""
        spec, recorder, plan = self._spec, self.recorder, self._plan
        scale = spec.devices_per_slot
        rows: dict[tuple[int | None, Any], float] = {}
        for charge in account.charges:
            key = (charge.trial, charge.kind)
            rows[key] = rows.get(key, 0.0) + charge.seconds * scale
        status, reason = _outcome(spec, recorder, account)
        events = (self._folder / "events.jsonl").read_bytes()
        return CellRecord(
            strategy=spec.strategy,
            seed=spec.seed,
            status=status,
            reason=reason,
            max_epochs=self._benchmark.max_epochs,
            rungs=list(plan.rungs),
            settings=dict(plan.settings),
            warnings=[*plan.warnings, *recorder.warnings],
            slots=spec.devices.slots,
            devices=spec.devices.held,
            budget_device_seconds=spec.budget_device_seconds,
            held_device_seconds=account.ended_s * spec.devices.held,
            setup_seconds=setup_seconds,
            wall_seconds=wall_seconds,
            searcher_seconds=self._told.seconds if self._told else 0.0,
            ledger=[
                LedgerRow(trial=trial, kind=kind, device_seconds=seconds)
                for (trial, kind), seconds in rows.items()
            ],
            in_flight=[
                InFlight(
                    trial=trial,
                    epoch=recorder.epoch_under_way(trial),
                    device_seconds=seconds * scale,
                )
                for trial, seconds in account.in_flight
            ],
            incumbent=recorder.incumbent,
            trials=dict(recorder.counts.ended),
            events=events.count(b"\n"),
            events_sha256=hashlib.sha256(events).hexdigest(),
        )


def _outcome(spec: CellSpec, recorder: Recorder, account: PoolAccount) -> tuple[CellStatus, str]:
    """How a cell ended, and why, in one line."""
    if recorder.stop_reason is not None:
        return "failed", recorder.stop_reason
    if recorder.epochs == 0 and not recorder.counts.ended["failed"]:
        return "failed", "no epoch fitted into the budget"
    if recorder.incumbent is None:
        return "failed", "no valid result: every trial failed or diverged"
    if account.ended_s < spec.budget_seconds:
        share = account.ended_s / spec.budget_seconds
        return "completed", f"the searcher ended after {share:.0%} of the budget"
    return "completed", "the budget was spent"
