"""Peak memory of a command and all processes that it starts, sampled while it runs.

Shared pages are counted once (PSS), so that Ray's object store and the libraries that every process
maps are not counted again for each.

    python -m benchmarks.perf.peak_memory python -m harness run --strategies all
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

PERIOD_S = 1.0


@dataclass(frozen=True)
class Watched:
    """A command that is over. ``peak_bytes``: by kind of process, at the worst moment.
    ``cpu_seconds``: of all its processes, each as last seen."""

    returncode: int
    peak_bytes: dict[str, int]
    wall_seconds: float
    cpu_seconds: float

    def lines(self) -> list[str]:
        """For people."""
        total = sum(self.peak_bytes.values())
        return [
            f"peak memory of the process tree: {total / 2**30:.2f} GiB (PSS), of which",
            *(
                f"  {size / 2**30:.2f} GiB  {kind}"
                for kind, size in sorted(self.peak_bytes.items(), key=lambda item: -item[1])
            ),
            f"wall-clock: {self.wall_seconds:.0f} s",
            f"CPU time: {self.cpu_seconds:.0f} s",
        ]


def watch(command: Sequence[str], *, with_own_children: bool = False) -> Watched:
    """Run a command to its end.

    ``with_own_children``: watch this process and all that it started before as well, such as a
    cluster that the command works on.
    """
    started = time.monotonic()
    process = subprocess.Popen(command)
    root = psutil.Process(None if with_own_children else process.pid)
    peak: dict[str, int] = {}
    cpu_seconds: dict[int, float] = {}
    while process.poll() is None:
        now = _sample(root, cpu_seconds)
        if sum(now.values()) > sum(peak.values()):
            peak = now
        try:
            process.wait(PERIOD_S)
        except subprocess.TimeoutExpired:
            continue
    seconds = time.monotonic() - started
    return Watched(process.returncode, peak, seconds, sum(cpu_seconds.values()))


def _sample(root: psutil.Process, cpu_seconds: dict[int, float]) -> dict[str, int]:
    """Bytes by kind of process, over the whole tree; notes each process's CPU time."""
    by_kind: defaultdict[str, int] = defaultdict(int)
    for process in [root, *root.children(recursive=True)]:
        try:
            by_kind[_kind(process)] += process.memory_full_info().pss
            times = process.cpu_times()
        except psutil.Error:
            continue
        cpu_seconds[process.pid] = times.user + times.system
    return dict(by_kind)


def _kind(process: psutil.Process) -> str:
    title = " ".join(process.cmdline())
    for mark, kind in (
        ("RayTrainWorker", "training workers"),
        ("run_cell_task", "virtual cells"),
        ("ray::", "Ray actors and idle workers"),
        ("cell_process", "the cell's process (Tune's controller)"),
        ("raylet", "Ray's daemons"),
        ("gcs_server", "Ray's daemons"),
        ("/ray/", "Ray's daemons"),
    ):
        if mark in title:
            return kind
    return "the study's process and others"


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    watched = watch(sys.argv[1:])
    print("\n".join(watched.lines()))
    sys.exit(watched.returncode)


if __name__ == "__main__":
    main()
