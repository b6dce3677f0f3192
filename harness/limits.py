"""When a study stops though there is work left: its time is over, or a disk is nearly full."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from harness.clock import Clock
from harness.cluster.storage import is_local, local_folder
from harness.contract import UsageError
from harness.study import StudyConfig

STOPPED_EXIT_CODE = 6
"""A limit was reached: what is finished is kept, and the same command goes on."""
SAME_FAILURE_EXIT_CODE = 5
"""A cell was ended by the same failure over and over: a bug, not bad luck."""
SAME_FAILURE = "the same failure"
"""How the reason of such a cell begins."""

TIME_PERIOD_S, DISK_PERIOD_S = 0.5, 10.0
GB = 1e9
_SIGNAL = signal.SIGUSR1
_DISK_IS_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class StudyLimits:
    """Watches the limits of a study from a thread, and ends it as Ctrl-C does.

    ``reached``: why it was ended, if so. Time is counted from the object's making.
    """

    def __init__(self, config: StudyConfig, folder: Path, clock: Clock) -> None:
        self._config, self._clock, self._started = config, clock, clock.now()
        self._folders = [folder]
        if config.storage is not None and is_local(config.storage):
            self._folders.append(local_folder(config.storage))
        self._lock, self._ended = threading.Lock(), threading.Event()
        self.reached: str | None = None

    def refuse_full_disk(self) -> None:
        """Raises :class:`UsageError` where there is no room to begin."""
        if reason := self._disk():
            raise UsageError(f"{reason}: make room, give another --out, or another limit")

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Interrupt what is done inside (``KeyboardInterrupt``) once a limit is reached.

        In the main thread.
        """
        # Not Ctrl-C's own signal, which a job in the background of a shell ignores.
        before = signal.signal(_SIGNAL, _interrupt)
        self._ended.clear()
        watcher = threading.Thread(target=self._watch, name="limits", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            with self._lock:
                self._ended.set()
            signal.signal(_SIGNAL, before)

    def note(self, error: OSError) -> None:
        """A write that failed: the study is stopped where the disk is full. Raises any other."""
        if error.errno not in _DISK_IS_FULL:
            raise error
        self.reached = f"a disk is full ({error.strerror}: {error.filename or 'a file'})"

    def _watch(self) -> None:
        disk_checked = self._clock.now()
        while not self._ended.wait(TIME_PERIOD_S):
            reason = self._time()
            if reason is None and self._clock.now() - disk_checked >= DISK_PERIOD_S:
                disk_checked = self._clock.now()
                reason = self._disk()
            if reason is None:
                continue
            with self._lock:
                if not self._ended.is_set():
                    self.reached = reason
                    signal.pthread_kill(threading.main_thread().ident or 0, _SIGNAL)
            return

    def _time(self) -> str | None:
        hours = self._config.max_hours
        if hours is None or self._clock.now() - self._started < hours * 3600:
            return None
        return f"the study's {hours:g} hours (--max-hours) are over"

    def _disk(self) -> str | None:
        most, least = self._config.max_disk_gb, self._config.min_free_disk_gb
        if most is not None:
            used = sum(map(size_of, self._folders)) / GB
            if used > most:
                return f"run folder and storage hold {used:.3g} GB (--max-disk-gb {most:g})"
        for folder in self._folders:
            # A disk that does not answer is no reason to stop watching the rest.
            with contextlib.suppress(OSError):
                free = shutil.disk_usage(folder).free / GB
                if free < least:
                    return f"only {free:.3g} GB are free at {folder} (--min-free-disk-gb {least:g})"
        return None


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; those that vanish meanwhile count nothing."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(Path(path, name)).st_size
    return total
