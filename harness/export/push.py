"""Pushes a run folder to a tracker, once and from the start: what ``export --to`` does."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from harness.contract import UsageError
from harness.export.feed import Feed
from harness.export.sink import Sink, open_sink
from harness.export.targets import Target


def push_pending(feed: Feed, sink: Sink) -> int:
    """Hand over what is new; what the sink refuses stays pending. Returns how many runs went."""
    count = 0
    for run in feed.pending():
        sink.push(run)
        feed.taken(run)
        count += 1
    return count


def push_run(folder: Path, target: Target) -> int:
    """Push all of a run folder; returns how many runs the tracker has of it.

    Raises:
        UsageError: not a run folder, or another process pushes it there.
        Exception: whatever the tracker's library raises.
    """
    feed = Feed(folder)
    with (
        pushing(folder, target, waits=False),
        contextlib.closing(open_sink(target, folder, feed.root)) as sink,
    ):
        feed.look()
        feed.finish()
        return push_pending(feed, sink)


@contextlib.contextmanager
def pushing(folder: Path, target: Target, *, waits: bool) -> Iterator[None]:
    """One process at a time pushes a folder to a kind of tracker: two would make runs twice.

    Raises:
        UsageError: another one does, and this one does not wait for it.
    """
    with (folder / f".pushing-{target.name}").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{folder} is being pushed to {target.name} by another process (a run with "
                f"--track {target.name}, or another export): wait for its end"
            ) from None
        yield
