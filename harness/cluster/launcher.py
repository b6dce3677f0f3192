"""Starts a cell's own process and follows it: the study's side of ``cell_process``."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from harness.cell import CellProgress
from harness.cluster.spec import ClusterCellSpec

TERMINATE_GRACE_S = 10.0


def launch_cell(
    spec: ClusterCellSpec, folder: Path, log: Path, on_progress: Callable[[CellProgress], None]
) -> int:
    """Run a cell to its end in a process of its own; returns its exit code.

    The process is in a session of its own, so that Ctrl-C reaches only the caller; whatever
    interrupts this call ends that session.
    """
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "harness.cluster.cell_process", str(folder), str(writer)]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(writer,),
            start_new_session=True,
        )
    os.close(writer)
    follower = threading.Thread(target=_follow, args=(reader, on_progress), daemon=True)
    follower.start()
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(spec.model_dump_json().encode())
        code = process.wait()
        follower.join(timeout=5)
    finally:
        _end_session(process)
    return code


def _follow(reader: int, on_progress: Callable[[CellProgress], None]) -> None:
    with os.fdopen(reader) as lines:
        for line in lines:
            on_progress(CellProgress.model_validate_json(line))


def _end_session(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(timeout=TERMINATE_GRACE_S)
            return
        except subprocess.TimeoutExpired:
            continue
