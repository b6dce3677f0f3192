"""Tune's trainable: it leases a warm worker group and has it train one epoch per step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ray
from ray import tune

from harness.cluster.messages import CellIsOver, EpochCommand, EpochFailed
from harness.contract import Config
from harness.tuning.results import EXTRA

STATE_FILE, ORIGIN_FILE = "state.pt", "origin.json"


class TrialActor(tune.Trainable):
    """With ``reuse_actors=True`` one of these serves trial after trial on the same group."""

    def setup(
        self, config: Config, *, pool: Any, training_seed: int, metric: str, saves: bool
    ) -> None:
        self._pool, self._training_seed, self._metric, self._saves = (
            pool,
            training_seed,
            metric,
            saves,
        )
        myself = ray.get_runtime_context().current_actor
        self._slot: int = ray.get(pool.acquire.remote([myself]))
        self._begin(config)

    def reset_config(self, new_config: Config) -> bool:
        self._begin(new_config)
        return True

    def step(self) -> dict[str, Any]:
        command = EpochCommand(
            trial=self._trial_number,
            config=self._trial_config,
            seed=self._training_seed,
            start=self._must_start,
            state_ref=self._state_ref if self._must_start else [],
        )
        try:
            result = ray.get(self._pool.train.remote(self._slot, command))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, CellIsOver):
                return {"done": True, EXTRA: None, self._metric: float("nan")}
            self._must_start = True
            if isinstance(error.cause, EpochFailed):
                raise RuntimeError(str(error.cause)) from None
            raise
        parent = self._parent if self._must_start else None
        self._must_start = False
        self._state_ref = result.state_ref
        metrics = dict(result.metrics)
        if self._metric not in metrics:
            raise RuntimeError(
                f"the benchmark reported no {self._metric!r}; it reported "
                f"{', '.join(sorted(metrics)) or 'nothing'}"
            )
        return {
            self._metric: metrics.pop(self._metric),
            EXTRA: {
                "metrics": metrics,
                "spans": result.spans,
                "slot": result.slot,
                "started_s": result.started_s,
                "reported_s": result.reported_s,
                "trial_seconds": result.trial_seconds,
                "state_ref": result.state_ref,
                "parent": parent,
            },
        }

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        folder = Path(checkpoint_dir)
        (folder / STATE_FILE).write_bytes(ray.get(self._state_ref[0]))
        origin = {"trial": self._trial_number, "epoch": self.iteration}
        (folder / ORIGIN_FILE).write_text(json.dumps(origin))

    def load_checkpoint(self, checkpoint: str) -> None:
        folder = Path(checkpoint)
        self._state_ref = [ray.put((folder / STATE_FILE).read_bytes())]
        origin = json.loads((folder / ORIGIN_FILE).read_text())
        self._parent = origin if origin["trial"] != self._trial_number else None

    def cleanup(self) -> None:
        ray.get(self._pool.release.remote(self._slot))

    def is_alive(self) -> bool:
        return True

    def _begin(self, config: Config) -> None:
        self._trial_config = {key: value for key, value in config.items()}
        self._trial_number = _trial_number(self.trial_name)
        self._must_start = True
        self._state_ref: list[Any] = []
        self._parent: dict[str, int] | None = None


def trial_name(number: int) -> str:
    return f"trial-{number:05d}"


def _trial_number(name: str) -> int:
    return int(name.rsplit("-", 1)[1])
