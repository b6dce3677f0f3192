"""Heavy load: many virtual cells at once, one cell of many trials, the report of a million events.

Three measurements, each in processes of its own, with peak memory as ``peak_memory.py`` has it:

* ``cells``: a study of 64 cells, all at once, on a Ray cluster of this machine that is told that it
  has 64 cores (there are as many processes as cells; the machine's own cores take turns);
* ``trials``: one cell of random search under ASHA, up to its limit of 20,000 trials;
* ``report``: the report of the study of ``cells`` with its cells copied under further seeds until
  there are a million events. The copies are files of their own; only their seed is another.

    python -m benchmarks.perf.load [--what cells,trials,report] [--cells 64] [--trials 20000]
        [--events 1000000] [--budget DEVICE-HOURS] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.perf.peak_memory import watch
from reports.store import CELL_FILE, EVENTS_FILE, STUDY_FILE, cell_folder, read_study


def run_command(out: Path, *words: object) -> list[str]:
    return [
        sys.executable, "-m", "harness", "run", "--executor", "virtual", "--out", str(out),
        *map(str, words),
    ]  # fmt: skip


@contextmanager
def cluster_of(cores: int) -> Iterator[str]:
    """A Ray cluster of this machine alone that hands out so many cores; its address."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cores})
    try:
        yield cluster.address
    finally:
        cluster.shutdown()


def cells_at_once(cells: int, budget: float, out: Path) -> None:
    words = ["--strategies", "random/fifo,random/asha", "--seeds", cells // 2, "--budget", budget]
    with cluster_of(cells) as address:
        command = run_command(out, *words, "--address", address)
        # The cells' processes are the cluster's, not the study's.
        watched = watch(command, with_own_children=True)
    print(f"cells: {cells} at once, {count_events(out):,} events")
    print("\n".join(watched.lines()), flush=True)


def many_trials(trials: int, out: Path) -> None:
    budget = trials / 20  # more than they take: the limit ends the cell
    words = ["--strategies", "random/asha", "--budget", budget, "--max-trials", trials]
    watched = watch(run_command(out, *words))
    record = json.loads((cell_folder(out, "random/asha", 0) / CELL_FILE).read_text())
    print(f"trials: {sum(record['trials'].values()):,}, {record['events']:,} events; ")
    print(f"  {record['reason']}")
    print("\n".join(watched.lines()), flush=True)


def large_report(source: Path, events: int, out: Path) -> None:
    copy_until(source, events, out)
    watched = watch([sys.executable, "-m", "harness", "report", str(out)])
    size = (out / "report.html").stat().st_size / 1e6
    print(f"report: {count_events(out):,} events, a page of {size:.1f} MB")
    print("\n".join(watched.lines()), flush=True)


def copy_until(source: Path, events: int, out: Path) -> None:
    """A run with at least so many events, made of a run's cells under further seeds."""
    study = read_study(source)
    times = -(-events // count_events(source))
    own = study.seeds
    seeds = [seed + k * (max(own) + 1) for k in range(times) for seed in own]
    out.mkdir(parents=True)
    asked = {**study.study, "seeds": seeds}
    copied = study.model_copy(update={"seeds": seeds, "study": asked})
    (out / STUDY_FILE).write_text(copied.model_dump_json(indent=2))
    for strategy in study.strategies:
        for place, seed in enumerate(seeds):
            there = cell_folder(source, strategy.name, own[place % len(own)])
            folder = cell_folder(out, strategy.name, seed)
            folder.mkdir(parents=True)
            shutil.copy(there / EVENTS_FILE, folder)
            record = json.loads((there / CELL_FILE).read_text()) | {"seed": seed}
            (folder / CELL_FILE).write_text(json.dumps(record))


def count_events(run: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in run.glob(f"cells/*/{EVENTS_FILE}"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--what", default="cells,trials,report")
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--budget", type=float, default=1.0, help="of each of the cells")
    parser.add_argument("--out", type=Path, help="keeps the run folders; must be a new one")
    given = parser.parse_args()
    what = given.what.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        root = given.out or Path(scratch)
        if "cells" in what or "report" in what:
            cells_at_once(given.cells, given.budget, root / "cells")
        if "trials" in what:
            many_trials(given.trials, root / "trials")
        if "report" in what:
            large_report(root / "cells", given.events, root / "events")
    print(f"{os.cpu_count()} cores, load {', '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
