"""Who starts worker groups needs no torch: it takes seconds and hundreds of megabytes."""

from __future__ import annotations

import subprocess
import sys

import torch
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

from harness.cluster.process_group import OwnDevice
from harness.cluster.torch_backend import TorchGroupConfig
from harness.cluster.train_run import GroupTrainer

NAMED_BY_WHO_STARTS_THEM = "harness.cluster.pool, harness.cluster.train_run"


def test_only_workers_import_torch() -> None:
    script = f"import sys, {NAMED_BY_WHO_STARTS_THEM}\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_what_ray_train_shows_of_the_group() -> None:
    config = TorchGroupConfig(backend="gloo", timeout_s=300)
    assert config.to_dict() == {"backend": "gloo", "timeout_s": 300}
    assert config.framework.value == "torch" and config.backend_cls.share_cuda_visible_devices


def test_a_group_starts_nothing_for_ray_data() -> None:
    backend = TorchGroupConfig(backend="gloo", timeout_s=300)
    started = {
        kind: {
            type(it).__name__
            for it in kind(print, backend_config=backend)._create_default_callbacks()
        }
        for kind in (DataParallelTrainer, GroupTrainer)
    }
    assert started[DataParallelTrainer] - started[GroupTrainer] == {"DatasetsCallback"}
    assert {"BackendSetupCallback", "PlacementGroupCleanerCallback"} <= started[GroupTrainer]


def test_without_a_gpu_a_worker_has_the_processor() -> None:
    with OwnDevice():
        assert torch.zeros(1).device.type == "cpu"
