"""Pushes a run folder to a tracker, once and from the start: what ``export --to`` does."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

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
        UsageError: not a run folder.
        Exception: whatever the tracker's library raises.
    """
    feed = Feed(folder)
    with (
        pushing(folder, target),
        contextlib.closing(open_sink(target, folder, feed.root)) as sink,
    ):
        feed.look()
        feed.finish()
        return push_pending(feed, sink)


@contextlib.contextmanager
def pushing(folder: Path, target: Target) -> Iterator[None]:
    """One process at a time pushes a folder to a kind of tracker: two would make runs twice."""
    with (folder / f".pushing-{target.name}").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
