"""A cell's own process: ``python -m harness.cluster.cell_process FOLDER STATUS_FD < spec.json``.

Its standard streams are the cell's log; progress goes as JSON lines to the file descriptor given.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import ray

from harness.cell import CellProgress
from harness.clock import MonotonicClock
from harness.cluster.cell import run_cell
from harness.cluster.process import connect
from harness.cluster.spec import ClusterCellSpec
from harness.contract.files import write_atomically


def main(folder: Path, status_fd: int) -> None:
    clock = MonotonicClock()
    started = clock.now()
    spec = ClusterCellSpec.model_validate_json(sys.stdin.read())
    connect(spec)
    with os.fdopen(status_fd, "w", buffering=1) as pipe:

        def report(progress: CellProgress) -> None:
            pipe.write(progress.model_dump_json() + "\n")

        record = run_cell(spec, folder, report, clock, started)
    write_atomically(folder / "cell.json", record.model_dump_json(indent=2) + "\n")
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
