"""The run's side of ``--track``: starts a follower per tracker, and ends them in bounded time."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from harness.clock import Clock
from harness.console import say
from harness.export.follower import FLUSH_S
from harness.export.targets import Target

GRACE_S = 5.0
"""For a follower to end by itself after ``FLUSH_S``."""
QUIET_S = 1.0
"""A wait that needs no explanation."""


@contextlib.contextmanager
def tracked(
    targets: Sequence[Target], folder: Path, console: Console, clock: Clock
) -> Iterator[None]:
    """Follow a run folder while the body runs, then wait for the rest, but not for long."""
    followers = [_Process(target, folder, console) for target in targets]
    try:
        yield
    finally:
        for follower in followers:
            follower.tell_the_end()
        deadline = clock.now() + FLUSH_S + GRACE_S
        try:
            for follower in followers:
                follower.wait(deadline - clock.now())
        finally:
            for follower in followers:
                follower.kill()


class _Process:
    """One tracker's follower."""

    def __init__(self, target: Target, folder: Path, console: Console) -> None:
        self._target, self._folder, self._console = target, folder, console
        # In a session of its own, so that Ctrl-C reaches the run alone.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.export.follower", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        place = "" if target.place is None else f":{target.place}"
        with contextlib.suppress(BrokenPipeError):
            # Not as an argument: it may hold a password, and anybody can list processes.
            self._process.stdin.write(f"{target.name}{place}\n")
            self._process.stdin.flush()
        self._reader = threading.Thread(target=self._show, daemon=True)
        self._reader.start()

    def tell_the_end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def wait(self, seconds: float) -> None:
        """Wait for the end; say where the results are, or how to push the rest."""
        code = self._end_within(min(QUIET_S, seconds))
        if code is None:
            say(self._console, f"{self._target}: pushing what is left, for at most {seconds:.0f} s")
            code = self._end_within(seconds - QUIET_S)
        self._reader.join(timeout=1.0)
        if code == 0:
            say(self._console, f"tracked: {self._target}")
            return
        command = shlex.join(
            ["python", "-m", "harness", "export", str(self._folder), "--to", str(self._target)]
        )
        say(self._console, f"not all results are in {self._target}; push them with:\n  {command}")

    def _end_within(self, seconds: float) -> int | None:
        """The exit code, or ``None`` where it has not ended by then."""
        try:
            return self._process.wait(max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        if self._process.poll() is None:
            # With what a library started for it.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _show(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            say(self._console, line.rstrip("\n"), "yellow")
