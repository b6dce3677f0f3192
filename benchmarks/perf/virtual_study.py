"""A whole study on the virtual clock, from the command to its report: seconds, memory, results.

By default the six strategies with 30 seeds on a recorded table, under the command line's own
default budget, which fills 50 whole trainings per cell. Peak memory as ``peak_memory.py`` has it.

    python -m benchmarks.perf.virtual_study [--benchmark noisy_quadratic] [--seeds 30]
        [--strategies all] [--budget DEVICE-HOURS] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.perf.peak_memory import watch
from harness.contract.records import Report
from reports.store import read_run


def study_command(given: argparse.Namespace, out: Path) -> list[str]:
    command = [
        sys.executable, "-m", "harness", "run", "--executor", "virtual",
        "--strategies", given.strategies, "--benchmark", given.benchmark,
        "--seeds", given.seeds, "--out", str(out),
    ]  # fmt: skip
    return command if given.budget is None else [*command, "--budget", given.budget]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--benchmark", default="fashion_mnist_table")
    parser.add_argument("--strategies", default="all")
    parser.add_argument("--seeds", default="30")
    parser.add_argument("--budget")
    parser.add_argument("--out", type=Path, help="keeps the run folder; must be a new one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = given.out or Path(scratch, "run")
        watched = watch(study_command(given, out))
        print("\n".join(watched.lines()))
        if (out / "study.json").exists():
            cells = read_run(out).cells.values()
            results = sum(isinstance(line, Report) for cell in cells for line in cell.reports)
            load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
            print(f"{len(cells)} cells, {results:,} results; {os.cpu_count()} cores, load {load}")


if __name__ == "__main__":
    main()
