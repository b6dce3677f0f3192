"""Finds the processes of a study, and kills one."""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from collections.abc import Sequence

import psutil

KINDS = ("study", "cell", "worker", "trial actor", "pool")

_TITLES = {
    "ray::RayTrainWorker": "worker",
    "ray::TrialActor": "trial actor",
    "ray::WorkerPool": "pool",
}
"""How Ray names its processes' titles."""


def processes(study: int) -> dict[str, list[psutil.Process]]:
    """The study's processes, by kind."""
    found = defaultdict[str, list[psutil.Process]](list)
    try:
        root = psutil.Process(study)
        found["study"].append(root)
        descendants = root.children(recursive=True)
    except psutil.NoSuchProcess:
        return found
    for process in descendants:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            words = process.cmdline()
            if "harness.cluster.cell_process" in words:
                found["cell"].append(process)
            for title, kind in _TITLES.items():
                if words and words[0].startswith(title):
                    found[kind].append(process)
    return found


def kill_one(study: int, kinds: Sequence[str], dice: random.Random) -> str | None:
    """Kill a process of a kind drawn from those of which there is one; returns the kind."""
    by_kind = processes(study)
    there = [kind for kind in kinds if by_kind[kind]]
    if not there:
        return None
    kind = dice.choice(there)
    with contextlib.suppress(psutil.NoSuchProcess):
        dice.choice(by_kind[kind]).kill()
        return kind
    return None
