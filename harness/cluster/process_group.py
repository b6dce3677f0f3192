"""What a worker does to join torch's process group, and to leave it.

The controller names these functions without running them, so that torch is imported inside. Torch
opens the store where the ranks meet on every interface, unless it is given a socket that listens
already. Ray cannot be asked for one: what is used of ``ray.train.torch.config`` is private.
"""

from __future__ import annotations

import os
import socket
from typing import Any, NamedTuple

import ray

from harness.cluster.loopback import is_loopback

STORE_IS_THERE = {"TORCHELASTIC_USE_AGENT_STORE": "True"}
"""Has rank 0 look for the store, as the others do, and not open one."""

_open_stores: list[Any] = []
"""This worker's, as long as it lives."""


class MeetingPoint(NamedTuple):
    """Where the ranks' store is, or (not ``is_open``) is to be opened by rank 0."""

    address: str
    port: int
    is_open: bool


def open_meeting_point() -> MeetingPoint:
    """On rank 0, before anybody joins."""
    address = ray.util.get_node_ip_address()
    if not is_loopback(f"{address}:0"):
        from ray.train._internal.utils import get_address_and_port

        address, port = get_address_and_port()
        return MeetingPoint(address, port, is_open=False)
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    listening = socket.create_server((address, 0))
    port = int(listening.getsockname()[1])
    store = TCPStore(
        address, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
    )
    _open_stores.append(store)
    return MeetingPoint(address, port, is_open=True)


def join(
    point: MeetingPoint, *, world_rank: int, world_size: int, backend: str, timeout_s: int
) -> None:
    from ray.train.torch.config import _set_torch_distributed_env_vars, _setup_torch_process_group

    os.environ |= {"MASTER_ADDR": point.address, "MASTER_PORT": str(point.port)}
    if point.is_open:
        os.environ |= STORE_IS_THERE
    _set_torch_distributed_env_vars()
    _setup_torch_process_group(
        backend=backend,
        world_rank=world_rank,
        world_size=world_size,
        init_method="env://",
        timeout_s=timeout_s,
    )


def leave(is_alone: bool) -> None:
    from ray.train.torch.config import _shutdown_torch

    _shutdown_torch(destroy_process_group=not is_alone)


class OwnDevice:
    """A context in which a worker's own GPU, if it has one, is torch's default."""

    def __enter__(self) -> None:
        from ray.train.torch.config import TorchConfigContextManager

        TorchConfigContextManager().__enter__()

    def __exit__(self, *error: object) -> None:
        pass
