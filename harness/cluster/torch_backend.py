"""Ray Train's way to torch's process group, but for one thing: on a cluster that is kept to this
machine, the ranks' rendezvous store is too.

Torch opens that store on every interface, unless it is given a socket that listens already. Ray
cannot be asked for one: what this module uses of ``ray.train.torch.config`` is private.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Any

import ray
from ray.train.torch import TorchConfig
from ray.train.torch.config import (
    _set_torch_distributed_env_vars,
    _setup_torch_process_group,
    _TorchBackend,
)
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from harness.cluster.loopback import is_loopback

STORE_IS_THERE = {"TORCHELASTIC_USE_AGENT_STORE": "True"}
"""Has rank 0 look for the store, as the others do, and not open one."""

_open_stores: list[Any] = []
"""This worker's, as long as it lives."""


@dataclass
class KeptTorchConfig(TorchConfig):
    """Ray's own where the workers' node has an address that others reach.

    ``backend`` is ``gloo`` or ``nccl``; ``init_method`` is not looked at on loopback.
    """

    @property
    def backend_cls(self) -> type[_TorchBackend]:
        return _KeptTorchBackend


class _KeptTorchBackend(_TorchBackend):
    def on_start(self, worker_group: Any, backend_config: KeptTorchConfig) -> None:
        address = worker_group.execute_single(0, ray.util.get_node_ip_address)
        if not is_loopback(f"{address}:0"):
            super().on_start(worker_group, backend_config)
            return
        port = worker_group.execute_single(0, _open_store, address)
        variables = {**STORE_IS_THERE, "MASTER_ADDR": address, "MASTER_PORT": str(port)}
        worker_group.execute(_set_variables, variables)
        worker_group.execute(_set_torch_distributed_env_vars)
        ranks = range(len(worker_group))
        ray.get(
            [
                worker_group.execute_single_async(
                    rank,
                    _setup_torch_process_group,
                    backend=backend_config.backend,
                    world_rank=rank,
                    world_size=len(ranks),
                    init_method="env://",
                    timeout_s=backend_config.timeout_s,
                )
                for rank in ranks
            ]
        )


def _set_variables(variables: dict[str, str]) -> None:
    os.environ.update(variables)


def _open_store(address: str) -> int:
    """The port of a new store of this process."""
    listening = socket.create_server((address, 0))
    port: int = listening.getsockname()[1]
    store = TCPStore(
        address, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
    )
    _open_stores.append(store)
    return port
