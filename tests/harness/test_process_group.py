"""Who starts worker groups needs no torch: it takes seconds and hundreds of megabytes."""

from __future__ import annotations

import subprocess
import sys

import torch

from harness.cluster.process_group import OwnDevice
from harness.cluster.torch_backend import TorchGroupConfig

NAMED_BY_WHO_STARTS_THEM = "harness.cluster.pool, harness.cluster.train_run"


def test_only_workers_import_torch() -> None:
    script = f"import sys, {NAMED_BY_WHO_STARTS_THEM}\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_what_ray_train_shows_of_the_group() -> None:
    config = TorchGroupConfig(backend="gloo", timeout_s=300)
    assert config.to_dict() == {"backend": "gloo", "timeout_s": 300}
    assert config.framework.value == "torch" and config.backend_cls.share_cuda_visible_devices


def test_without_a_gpu_a_worker_has_the_processor() -> None:
    with OwnDevice():
        assert torch.zeros(1).device.type == "cpu"
