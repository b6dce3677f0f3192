"""The Ray cluster that a study runs on: a local one of our own, or an existing one."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import benchmarks
import harness
import reports
import strategies
from harness.cluster.loopback import is_loopback, keep_to_loopback
from harness.cluster.ray_address import find_cluster
from harness.contract import DeviceKind, UsageError
from harness.devices import ClusterDevices
from harness.provenance import cpu_model
from harness.redaction import redacted

PACKAGES = [harness, strategies, benchmarks, reports]
"""What a node needs of this project."""

STATE_API_TIMEOUT_S = 30

INSTALL_HINT = (
    "Ray Train gives a stopped trial's devices back through Ray's State API, which needs "
    'ray[default] and the dashboard: pip install "ray[default,train,tune]", '
    "and start the cluster with its dashboard on"
)


@dataclass(frozen=True)
class RayCluster:
    """A cluster that this process is connected to. ``is_ours``: started here, for this study."""

    address: str
    nodes: int
    cores: float
    devices: ClusterDevices
    is_ours: bool


@contextlib.contextmanager
def ray_cluster(
    address: str | None, log: Path, *, is_for_tasks: bool = False
) -> Iterator[RayCluster]:
    """Connect to the cluster at ``address``, or start one on this machine; leave it at the end.

    Nodes that are not ours get this project's packages for this process's tasks. ``is_for_tasks``:
    these are all it starts, no worker groups, so that the State API is not needed.

    Raises:
        UsageError: no cluster there, or one whose State API does not answer.
    """
    _check_installed()
    # Silences a warning about a future default that does not concern us; read on import.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    _log_to(log)
    if address is None or is_loopback(address):
        keep_to_loopback()
    if address is None:
        # Whatever RAY_ADDRESS says: another cluster has to be asked for.
        wanted: dict[str, Any] = {"address": "local", "include_dashboard": not is_for_tasks}
    else:
        wanted = {"address": find_cluster(address), "runtime_env": {"py_modules": PACKAGES}}
    try:
        with _screen_to(log):
            context = ray.init(log_to_driver=False, configure_logging=False, **wanted)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at --address {address}"
        first_line = str(error).strip().splitlines()[0]
        raise UsageError(f"no Ray cluster could be used {where}: {first_line}") from error
    try:
        if not is_for_tasks:
            _check_state_api(context.address_info["address"])
        alive = [node for node in ray.nodes() if node["Alive"]]
        yield RayCluster(
            address=context.address_info["address"],
            nodes=len(alive),
            cores=sum(node["Resources"].get("CPU", 0.0) for node in alive),
            devices=_devices([node["Resources"] for node in alive]),
            is_ours=address is None,
        )
    finally:
        ray.shutdown()


def _check_installed() -> None:
    from importlib.util import find_spec

    # The modules that the "default" extra adds and the State API needs.
    if any(find_spec(module) is None for module in ("aiohttp", "opencensus", "grpc")):
        raise UsageError(f"Ray is installed without its 'default' extra. {INSTALL_HINT}")


def _check_state_api(address: str) -> None:
    from ray.util.state import list_nodes

    try:
        list_nodes(address=address, timeout=STATE_API_TIMEOUT_S)
    except Exception as error:  # every way in which it can be out of order means the same to us
        raise UsageError(f"the cluster's State API does not answer. {INSTALL_HINT}") from error


def _devices(resources: list[dict[str, float]]) -> ClusterDevices:
    kind: DeviceKind = "GPU" if any(node.get("GPU", 0) for node in resources) else "CPU"
    models = {
        key.split(":", 1)[1]
        for node in resources
        for key in node
        if key.startswith("accelerator_type:")
    }
    model = ", ".join(sorted(models)) if kind == "GPU" else cpu_model()
    per_node = tuple(node[kind] for node in resources if node.get(kind, 0))
    return ClusterDevices(kind, model or "unknown", per_node)


@contextlib.contextmanager
def _screen_to(log: Path) -> Iterator[None]:
    """Send what this process and its new children print to the run's log: Ray's daemons inherit
    these streams, and Ray prints some notices past its loggers."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        with log.open("ab") as file:
            for number, _ in kept:
                os.dup2(file.fileno(), number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


def _log_to(log: Path) -> None:
    """Send what Ray logs in this process to the run's log instead of the screen."""
    handler = logging.FileHandler(log)
    handler.setFormatter(_RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("ray")
    logger.handlers = [handler]
    logger.propagate = False


class _RedactingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
