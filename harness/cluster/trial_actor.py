"""Tune's trainable: it leases a warm worker group and has it train one epoch per step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ray
from ray import tune

from harness.clock import MonotonicClock
from harness.cluster.messages import CellOverError, EpochCommand, EpochError
from harness.contract import Config
from harness.contract.records import Kind, Parent
from harness.ledger import Charge
from harness.tuning.names import trial_number
from harness.tuning.results import (
    CUT,
    EXTRA,
    FAILED,
    MAX_RETRIES,
    EpochExtra,
    Failure,
    missing_metric,
)

STATE_FILE, ORIGIN_FILE = "state.pt", "origin.json"


class TrialActor(tune.Trainable):
    """With ``reuse_actors=True`` one of these serves trial after trial on the same group."""

    _must_start: bool
    _state: bytes
    _failures: int
    _parent: Parent | None

    def setup(self, config: Config, *, pool: Any, training_seed: int, metric: str) -> None:
        self._pool, self._training_seed, self._metric = pool, training_seed, metric
        self._clock = MonotonicClock()
        self._overhead: list[Charge] = []
        myself = ray.get_runtime_context().current_actor
        self._slot: int = ray.get(pool.acquire.remote([myself]))
        self._begin(config)

    def reset_config(self, new_config: Config) -> bool:
        self._begin(new_config)
        return True

    def step(self) -> dict[str, Any]:
        failures: list[Failure] = []
        while True:
            try:
                return self._train(failures)
            except CellOverError:
                return {"done": True, CUT: True, self._metric: float("nan")}
            except EpochError as error:
                # Handled here, because Tune would start a new actor each time: seconds of idle
                # devices, where a failed epoch leaves the worker group in working order.
                failures.append(error.failure)
                self._failures += 1
                self._must_start = True
            if self._failures > MAX_RETRIES:
                return {"done": True, FAILED: True, self._metric: float("nan"), EXTRA: failures}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        started = self._clock.now()
        folder = Path(checkpoint_dir)
        (folder / STATE_FILE).write_bytes(self._state)
        origin = {
            "trial": self._trial_number,
            "epoch": self.iteration,
            "failures": self._failures,
        }
        (folder / ORIGIN_FILE).write_text(json.dumps(origin))
        if self._last_result:
            # Tune keeps a checkpoint's last result: it must not keep the state's bytes alive.
            self._last_result.pop(EXTRA, None)
        self._note("checkpoint", started)

    def load_checkpoint(self, checkpoint: str) -> None:
        started = self._clock.now()
        folder = Path(checkpoint)
        self._state = (folder / STATE_FILE).read_bytes()
        origin = json.loads((folder / ORIGIN_FILE).read_text())
        if origin["trial"] == self._trial_number:
            self._failures = origin["failures"]
        else:
            self._parent = Parent(trial=origin["trial"], epoch=origin["epoch"])
        self._note("restore", started)

    def cleanup(self) -> None:
        ray.get(self._pool.release.remote(self._slot))

    def is_alive(self) -> bool:
        return True

    def _begin(self, config: Config) -> None:
        self._trial_config = dict(config)
        self._trial_number = trial_number(self.trial_name)
        self._must_start = True
        self._state = b""
        self._parent = None
        self._failures = 0

    def _train(self, failures: list[Failure]) -> dict[str, Any]:
        """Have the group train one epoch; ``failures`` are this epoch's attempts before."""
        overhead, self._overhead = self._overhead, []
        command = EpochCommand(
            trial=self._trial_number,
            config=self._trial_config,
            seed=self._training_seed,
            start=self._must_start,
            state_ref=[ray.put(self._state)] if self._must_start and self._state else [],
            overhead=overhead,
        )
        try:
            result = ray.get(self._pool.train.remote(self._slot, command))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, CellOverError | EpochError):
                raise error.cause from None
            raise
        metrics = result.metrics
        if (reason := missing_metric(self._metric, metrics)) is not None:
            raise EpochError(reason, at_s=result.reported_s)
        if result.state_ref:
            # Kept here, because the workers that own it may die with the next epoch.
            self._state = ray.get(result.state_ref[0])
        parent, self._parent = self._parent, None
        self._must_start = False
        return {
            self._metric: metrics[self._metric],
            EXTRA: EpochExtra(
                config=self._trial_config,
                metrics=metrics,
                spans=result.spans,
                slot=result.slot,
                started_s=result.started_s,
                reported_s=result.reported_s,
                trial_seconds=result.trial_seconds,
                state=result.state_ref,
                parent=parent,
                failures=failures,
            ),
        }

    def _note(self, kind: Kind, started: float) -> None:
        self._overhead.append(Charge(self._trial_number, kind, self._clock.now() - started))
