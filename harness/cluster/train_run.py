"""One Ray Train run that serves as a warm worker group: the only module that builds a trainer."""

from __future__ import annotations

from typing import Any

import ray.train
from ray.train import torch as ray_torch

from harness.cluster.train_spec import TrainRunSpec
from harness.cluster.worker_loop import serve

COLLECTIVE_TIMEOUT_S = 300


def run_worker_group(spec: TrainRunSpec, name: str, pool: Any, slot: int, generation: int) -> None:
    """Run a worker group until it ends; blocks. Raises what ended it early."""
    use_gpu = spec.device_kind == "GPU"
    trainer = ray_torch.TorchTrainer(
        serve,
        train_loop_config={
            "pool": pool,
            "slot": slot,
            "generation": generation,
            "benchmark": spec.benchmark,
            "dataset": spec.dataset,
            "data_seed": spec.data_seed,
            "threads_per_worker": max(1, int(spec.devices_per_worker)),
        },
        torch_config=ray_torch.TorchConfig(backend=spec.backend, timeout_s=COLLECTIVE_TIMEOUT_S),
        scaling_config=ray.train.ScalingConfig(
            num_workers=spec.workers,
            use_gpu=use_gpu,
            resources_per_worker={spec.device_kind: spec.devices_per_worker},
        ),
        run_config=ray.train.RunConfig(
            # A run's name is state: the same name would resume the old run and train nothing.
            name=name,
            storage_path=spec.storage.path,
            storage_filesystem=spec.storage.filesystem,
            failure_config=ray.train.FailureConfig(max_failures=0),
        ),
    )
    trainer.fit()


def reason_of_death(error: BaseException) -> str:
    """One line for people out of Ray Train's nested error."""
    worker_failures = getattr(error, "worker_failures", None)
    if worker_failures:
        rank, failure = sorted(worker_failures.items())[0]
        cause = getattr(failure, "cause", None) or failure
        first_line = str(cause).strip().splitlines()[-1]
        return f"worker {rank} died: {type(cause).__name__}: {first_line}"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"the worker group died: {lines[0]}"
