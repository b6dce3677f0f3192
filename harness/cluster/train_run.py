"""One Ray Train run that serves as a warm worker group: the only module that builds a trainer."""

from __future__ import annotations

from typing import Any

import ray.train
from ray.train.v2._internal.callbacks import DatasetsCallback
from ray.train.v2._internal.execution.callback import RayTrainCallback
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

from harness.cluster.torch_backend import TorchGroupConfig
from harness.cluster.train_spec import TrainRunSpec
from harness.cluster.worker_loop import serve

COLLECTIVE_TIMEOUT_S = 300


class GroupTrainer(DataParallelTrainer):
    """What a TorchTrainer is, without its import of torch, and without Ray Data: workers read their
    data themselves, and its manager would be one more process for each group, seconds of a core."""

    def _create_default_callbacks(self) -> list[RayTrainCallback]:
        callbacks = super()._create_default_callbacks()
        return [callback for callback in callbacks if not isinstance(callback, DatasetsCallback)]


def run_worker_group(spec: TrainRunSpec, name: str, pool: Any, slot: int, generation: int) -> None:
    """Run a worker group until it ends; blocks. Raises what ended it early."""
    use_gpu = spec.device_kind == "GPU"
    trainer = GroupTrainer(
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
        backend_config=TorchGroupConfig(backend=spec.backend, timeout_s=COLLECTIVE_TIMEOUT_S),
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
    if isinstance(error, ray.train.WorkerGroupError) and error.worker_failures:
        rank, failure = sorted(error.worker_failures.items())[0]
        return f"worker {rank} died: {_innermost(failure)}"
    if isinstance(error, ray.train.ControllerError):
        return f"the worker group died: {_innermost(error.controller_failure)}"
    return f"the worker group died: {_innermost(error)}"


def _innermost(error: BaseException) -> str:
    """What is behind Ray's own errors, with its last line: the first ones say where it was."""
    while isinstance(cause := getattr(error, "cause", None), BaseException):
        error = cause
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[-1].strip()}" if lines else name
