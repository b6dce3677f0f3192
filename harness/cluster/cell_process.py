"""A cell's own process: ``python -m harness.cluster.cell_process FOLDER STATUS_FD < spec.json``.

Its standard streams are the cell's log; progress goes as JSON lines to the file descriptor given.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import ray

from harness.cell import CellProgress
from harness.clock import MonotonicClock
from harness.cluster.cell import load_files, run_cell
from harness.cluster.ray_cluster import PACKAGES
from harness.cluster.spec import ClusterCellSpec
from harness.contract.files import write_atomically

TRAIN_SETTINGS = {"RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "1"}
"""How soon Ray Train notices that a worker died (its default is 2 s)."""


def main(folder: Path, status_fd: int) -> None:
    clock = MonotonicClock()
    started = clock.now()
    spec = ClusterCellSpec.model_validate_json(sys.stdin.read())
    # Without it, Ray Train's State API client gives up where a machine runs two clusters, and a
    # stopped group's devices stay taken.
    runtime_env: dict[str, Any] = {"env_vars": {"RAY_ADDRESS": spec.ray_address} | TRAIN_SETTINGS}
    if spec.ships_code:
        runtime_env["py_modules"] = PACKAGES
    ray.init(address=spec.ray_address, runtime_env=runtime_env, namespace=spec.name)
    load_files(spec)
    with os.fdopen(status_fd, "w", buffering=1) as pipe:

        def report(progress: CellProgress) -> None:
            pipe.write(progress.model_dump_json() + "\n")

        record = run_cell(spec, folder, report, clock, started)
    write_atomically(folder / "cell.json", record.model_dump_json(indent=2) + "\n")
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
