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

import psutil

PERIOD_S = 1.0


def sample(root: psutil.Process) -> dict[str, int]:
    """Bytes by kind of process, over the whole tree."""
    by_kind: defaultdict[str, int] = defaultdict(int)
    for process in [root, *root.children(recursive=True)]:
        try:
            by_kind[_kind(process)] += process.memory_full_info().pss
        except psutil.Error:
            continue
    return dict(by_kind)


def _kind(process: psutil.Process) -> str:
    title = " ".join(process.cmdline())
    for mark, kind in (
        ("RayTrainWorker", "training workers"),
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
    process = subprocess.Popen(sys.argv[1:])
    root = psutil.Process(process.pid)
    peak: dict[str, int] = {}
    started = time.monotonic()
    while process.poll() is None:
        now = sample(root)
        if sum(now.values()) > sum(peak.values()):
            peak = now
        time.sleep(PERIOD_S)
    print(f"peak memory of the process tree: {sum(peak.values()) / 2**30:.2f} GiB (PSS), of which")
    for kind, size in sorted(peak.items(), key=lambda item: -item[1]):
        print(f"  {size / 2**30:.2f} GiB  {kind}")
    print(f"wall-clock: {time.monotonic() - started:.0f} s")
    sys.exit(process.returncode)


if __name__ == "__main__":
    main()
