"""How long `harness check` takes without a run of its own, and where the time goes.

    python -m benchmarks.perf.check_seconds [--baseline baselines/fashion_mnist_table.json]

Phases end with the line that the command says then: seconds of wall-clock.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PHASES = (
    ("imports", "starting Ray"),
    ("Ray starts", "each cell holds"),
    ("cells", "report:"),
    ("decision, page and other outputs", "details:"),
)
"""The cells' phase has the run's own report in it, which is told as well."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--baseline", type=Path, default="baselines/fashion_mnist_table.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            sys.executable, "-u", "-m", "harness", "check", "--baseline", str(given.baseline),
            "--out", f"{scratch}/check",
        ]  # fmt: skip
        began = last = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        waiting = list(PHASES)
        all_cells_s = None
        for line in process.stdout:
            now = time.monotonic()
            cells = line.split(" cells done")[0].split(" of ")
            if all_cells_s is None and " cells done" in line and cells[0] == cells[-1]:
                all_cells_s = now
            if waiting and line.startswith(waiting[0][1]):
                print(f"{now - last:6.1f} s  {waiting.pop(0)[0]}")
                if line.startswith("report:") and all_cells_s is not None:
                    print(f"{now - all_cells_s:6.1f} s    of these: the run's own report")
                last = now
        code = process.wait()
    print(f"{time.monotonic() - began:6.1f} s  in all; exit code {code}")


if __name__ == "__main__":
    main()
