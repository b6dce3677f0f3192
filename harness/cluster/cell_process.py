"""A cell's own process: ``python -m harness.cluster.cell_process FOLDER STATUS_FD < spec.json``.

Its standard streams are the cell's log; progress goes as JSON lines to the file descriptor given.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import ray

from harness.cell import CellProgress
from harness.clock import MonotonicClock
from harness.cluster.cell import run_cell
from harness.cluster.journal import NOT_GONE_ON_FILE, JournalError
from harness.cluster.process import connect
from harness.cluster.spec import ClusterCellSpec
from harness.contract.files import write_atomically
from harness.redaction import redacted
from harness.tuning.event_log import OtherHistoryError


def main(folder: Path, status_fd: int) -> None:
    clock = MonotonicClock()
    started = clock.now()
    spec = ClusterCellSpec.model_validate_json(sys.stdin.read())
    connect(spec)
    with os.fdopen(status_fd, "w", buffering=1) as pipe:

        def report(progress: CellProgress) -> None:
            pipe.write(progress.model_dump_json() + "\n")

        try:
            record = run_cell(spec, folder, report, clock, started)
        except Exception as error:
            if (reason := why_not_gone_on_with(error)) is None:
                raise
            traceback.print_exc()
            (folder / NOT_GONE_ON_FILE).write_text(f"{redacted(reason)}\n")
            sys.exit(1)
    write_atomically(folder / "cell.json", record.model_dump_json(indent=2) + "\n")
    ray.shutdown()


def why_not_gone_on_with(error: BaseException) -> str | None:
    """Whether an error says that the cell's past cannot be told again. (Tune raises its own error
    while it handles a callback's.)"""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OtherHistoryError | JournalError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
