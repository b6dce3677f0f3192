"""What every process that the study starts on the cluster does first."""

from __future__ import annotations

import sys
from typing import Any

import ray

from benchmarks.registry import BENCHMARKS
from harness.cluster.loopback import is_loopback, worker_variables
from harness.cluster.ray_cluster import PACKAGES
from harness.cluster.spec import ClusterSpec
from harness.contract.registry import module_of_file
from harness.redaction import RedactingStream
from strategies.registry import STRATEGIES

TRAIN_SETTINGS = {
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "1",
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
}
"""How soon Ray Train notices that a worker died (its default is 2 s); and no process per worker
group that tells workers of a node's coming end, since ours have nothing to save then: each epoch's
state has left them already."""


def connect(spec: ClusterSpec) -> None:
    """Connect this process to the study's cluster, and register the user's own files.

    From here on no secret reaches its log.
    """
    sys.stdout, sys.stderr = RedactingStream(sys.stdout), RedactingStream(sys.stderr)
    # Without it, Ray Train's State API client gives up where a machine runs two clusters, and a
    # stopped group's devices stay taken.
    runtime_env: dict[str, Any] = {"env_vars": {"RAY_ADDRESS": spec.ray_address} | TRAIN_SETTINGS}
    if is_loopback(spec.ray_address):
        runtime_env["env_vars"] |= worker_variables()
    if spec.ships_code:
        runtime_env["py_modules"] = PACKAGES
    ray.init(address=spec.ray_address, runtime_env=runtime_env, namespace=spec.name)
    for registry, files in (
        (STRATEGIES, spec.study.strategy_files),
        (BENCHMARKS, spec.study.benchmark_files),
    ):
        for path in files:
            registry.add_file(path)
            # Its classes travel to the workers by value.
            ray.cloudpickle.register_pickle_by_value(module_of_file(path))
