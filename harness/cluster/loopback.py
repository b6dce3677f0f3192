"""Keeps a cluster of our own to this machine: nothing of it listens beyond loopback.

Left alone, Ray listens on every interface on Linux, also for one machine. On macOS and Windows it
does not; the variable that turns that on and off there does the same here.
"""

from __future__ import annotations

import os
import socket

SETTING = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's own: with 0 a node's address is 127.0.0.1, and all of Ray's servers listen there. Whoever
sets it to 1 asks for a cluster that others reach."""

INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
"""Where torch's ranks listen for each other."""


def keep_to_loopback() -> None:
    """For this process and those that it starts. To be called before the cluster is started."""
    is_open = os.environ.setdefault(SETTING, "0") == "1"
    # Ray reads the variable when it is imported, which a benchmark's space may have done already.
    from ray._private import ray_constants

    ray_constants.ENABLE_RAY_CLUSTER = is_open


def is_loopback(address: str) -> bool:
    """Whether ``HOST:PORT`` is on this machine's loopback interface."""
    host = address.rpartition(":")[0].strip("[]")
    return host == "localhost" or host == "::1" or host.startswith("127.")


def worker_variables() -> dict[str, str]:
    """Environment variables that have worker groups talk over loopback; a user's own win."""
    interfaces = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    return {
        name: interfaces[0] for name in INTERFACE_VARIABLES if interfaces and name not in os.environ
    }
