"""What a cell's worker groups have in common, as data."""

from __future__ import annotations

from dataclasses import dataclass

from harness.cluster.storage import Storage
from harness.contract import Benchmark, Dataset, DeviceKind


@dataclass(frozen=True)
class TrainRunSpec:
    """What every worker group of a cell has in common.

    ``storage``: a place that every node reaches; Ray Train only leaves marker files there.
    """

    benchmark: Benchmark
    dataset: Dataset
    data_seed: int
    workers: int
    device_kind: DeviceKind
    devices_per_worker: float
    storage: Storage

    @property
    def backend(self) -> str:
        """nccl needs whole GPUs: two ranks on one GPU are refused inside nccl."""
        whole_gpus = self.device_kind == "GPU" and self.devices_per_worker >= 1
        return "nccl" if whole_gpus else "gloo"
