"""Follows a run folder to a tracker, in a process of its own: the run never waits for it.

``python -m harness.export.follower RUN``, with the target on the first line of standard input; the
run is over when that closes, however the other side ended. Each line of standard output is for the
user. Exit code 0: everything arrived.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from harness.export.feed import Feed
from harness.export.push import push_pending, pushing
from harness.export.sink import Sink, open_sink
from harness.export.targets import Target, parse_target

POLL_S = 2.0
LONGEST_WAIT_S = 60.0
FLUSH_S = 30.0
"""How long it may take after the run's end."""
NICENESS = 10
"""The trials go first on a busy processor."""
NOT_ALL_ARRIVED = 1


class Follower:
    """Pushes what is new, again and again; a tracker that fails is tried again, later and later."""

    def __init__(self, folder: Path, target: Target, say: Callable[[str], None]) -> None:
        self._folder, self._target, self._say = folder, target, say
        self._feed = Feed(folder)
        self._sink: Sink | None = None
        self._is_down = False
        self.wait_s = POLL_S

    def turn(self) -> None:
        """Read what is new, and push it."""
        if self._feed.is_empty:
            self._feed.look()
        self._push()

    def finish(self) -> bool:
        """The run is over: push the rest, with the report; returns whether everything arrived."""
        self._feed.look()
        self._feed.finish()
        self._push()
        if self._sink is not None:
            with contextlib.suppress(Exception):
                self._sink.close()
        return self._feed.is_empty

    def _push(self) -> None:
        try:
            if self._sink is None:
                self._sink = open_sink(self._target, self._folder, self._feed.root)
            push_pending(self._feed, self._sink)
        except (Exception, SystemExit) as error:  # every library fails in its own ways
            self._failed(error)
            return
        self.wait_s = POLL_S
        if self._is_down:
            self._is_down = False
            self._say(f"{self._target} takes results again")

    def _failed(self, error: BaseException) -> None:
        self.wait_s = min(2 * self.wait_s, LONGEST_WAIT_S)
        if self._sink is not None:
            with contextlib.suppress(Exception):
                self._sink.close()
            self._sink = None
        if not self._is_down:
            self._is_down = True
            reason = " ".join(self._target.clean(f"{type(error).__name__}: {error}").split())
            self._say(f"{self._target} takes no results; the run goes on without it ({reason})")


def main() -> None:
    folder = Path(sys.argv[1])
    target = parse_target(sys.stdin.readline().rstrip("\n"))
    os.nice(NICENESS)
    # Libraries print; only what is said on purpose is for the user.
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def say(text: str) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more
            lines.write(text + "\n")

    is_over = threading.Event()
    threading.Thread(target=_wait_for_end, args=(is_over,), daemon=True).start()
    with pushing(folder, target, waits=True):
        follower = Follower(folder, target, say)
        while not is_over.wait(follower.wait_s):
            follower.turn()
        has_arrived = follower.finish()
    # At once: some libraries wait at the interpreter's exit for a server that is gone.
    os._exit(0 if has_arrived else NOT_ALL_ARRIVED)


def _wait_for_end(is_over: threading.Event) -> None:
    sys.stdin.read()
    is_over.set()
    threading.Event().wait(FLUSH_S)
    os._exit(NOT_ALL_ARRIVED)


if __name__ == "__main__":
    main()
