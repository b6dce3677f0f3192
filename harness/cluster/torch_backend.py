"""Ray Train's way to torch's process group, with two differences from ``ray.train.torch``.

Only the workers import torch. With Ray's own backend each worker group's controller does too, and
the process that starts the groups: seconds of a core and a third of a gigabyte for each of them.

On a cluster that is kept to this machine, the store where the ranks meet is kept to it as well: see
:mod:`harness.cluster.process_group`, which has what is run in the workers.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import Any

import ray
from ray.train.backend import Backend, BackendConfig
from ray.train.v2._internal.util import TrainingFramework

from harness.cluster import process_group

SHUTDOWN_TIMEOUT_S = 30.0
"""Ray Train's own."""

logger = logging.getLogger(__name__)


@dataclass
class TorchGroupConfig(BackendConfig):
    """``backend`` is torch's: ``gloo`` or ``nccl``. ``timeout_s``: how long a collective call may
    take."""

    backend: str
    timeout_s: int

    @property
    def backend_cls(self) -> type[Backend]:
        return _TorchGroup

    @property
    def train_func_context(self) -> type[process_group.OwnDevice]:
        return process_group.OwnDevice

    @property
    def framework(self) -> TrainingFramework:
        return TrainingFramework.TORCH

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class _TorchGroup(Backend):
    share_cuda_visible_devices = True

    def on_start(self, worker_group: Any, backend_config: BackendConfig) -> None:
        assert isinstance(backend_config, TorchGroupConfig)
        meeting_point = worker_group.execute_single(0, process_group.open_meeting_point)
        joining = [
            worker_group.execute_single_async(
                rank,
                process_group.join,
                meeting_point,
                world_rank=rank,
                world_size=len(worker_group),
                backend=backend_config.backend,
                timeout_s=backend_config.timeout_s,
            )
            for rank in range(len(worker_group))
        ]
        ray.get(joining)

    def on_shutdown(self, worker_group: Any, backend_config: BackendConfig) -> None:
        leaving = worker_group.execute_async(process_group.leave, is_alone=len(worker_group) == 1)
        try:
            ray.get(leaving, timeout=SHUTDOWN_TIMEOUT_S)
        except ray.exceptions.GetTimeoutError:
            logger.warning("torch's process group did not end in %g s", SHUTDOWN_TIMEOUT_S)
