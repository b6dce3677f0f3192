"""Starts a process of the study's own and follows it: the study's side of ``process``."""

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
from harness.cluster.spec import ClusterCellSpec, ClusterSpec

TERMINATE_GRACE_S = 10.0


def launch_cell(
    spec: ClusterCellSpec, folder: Path, log: Path, on_progress: Callable[[CellProgress], None]
) -> int:
    """Run a cell to its end in a process of its own; returns its exit code."""
    return launch(
        ["harness.cluster.cell_process", str(folder)],
        spec,
        log,
        lambda line: on_progress(CellProgress.model_validate_json(line)),
    )


def launch(module: list[str], spec: ClusterSpec, log: Path, on_line: Callable[[str], None]) -> int:
    """Run ``python -m MODULE ARGUMENT… STATUS_FD`` to its end; returns its exit code.

    It gets ``spec`` as JSON on its standard input, and its standard streams are the log. Each line
    that it writes to the file descriptor STATUS_FD goes to ``on_line``, called in another thread.

    The process is in a session of its own, so that Ctrl-C reaches only the caller; whatever
    interrupts this call ends that session.
    """
    reader, writer = os.pipe()
    command = [sys.executable, "-m", *module, str(writer)]
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
    follower = threading.Thread(target=_follow, args=(reader, on_line), daemon=True)
    follower.start()
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(spec.model_dump_json().encode())
        code = process.wait()
    finally:
        _end_session(process)
        # What the process said before its end counts, whatever ended it.
        follower.join(timeout=5)
    return code


def _follow(reader: int, on_line: Callable[[str], None]) -> None:
    with os.fdopen(reader) as lines:
        for line in lines:
            on_line(line)


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
