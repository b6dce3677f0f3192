"""How well a finished run used its devices: useful share, and the gap between two trials.

The gap is measured on each slot from the last report of one trial to the moment when the workers
are told to begin the next one; preparing the model (``restore``) until the first batch is added.

    python -m benchmarks.perf.run_figures runs/NAME
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.contract.records import Report
from reports.analysis.analyse import analyse
from reports.store import read_run


def gaps(reports: Sequence[Report]) -> list[float]:
    """Seconds from the end of each trial to the first batch of the next one on its slot."""
    last: dict[int, Report] = {}
    found = []
    for report in sorted(reports, key=lambda report: report.reported_s):
        before = last.get(report.slot)
        ended = before is not None and before.decision in ("stop", "finish", "diverged")
        if before is not None and ended and before.trial != report.trial:
            restore = sum(span.seconds for span in report.spans if span.kind == "restore")
            found.append(report.started_s - before.reported_s + restore)
        last[report.slot] = report
    return found


def epoch_device_seconds(reports: Sequence[Report], devices_per_slot: float) -> list[float]:
    """Device-seconds of each epoch, from the command to the report."""
    return [(report.reported_s - report.started_s) * devices_per_slot for report in reports]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = read_run(Path(sys.argv[1]))
    cells = analyse(run).summary.strategies
    print("strategy       seed  useful  wall s  setup s  trials  gap between trials: median, worst")
    for (strategy, seed), cell in run.cells.items():
        row = cells[strategy][str(seed)]
        found = gaps(cell.reports)
        text = f"{statistics.median(found):.3f} s, {max(found):.3f} s" if found else "no such gap"
        share = "–" if row.useful_share is None else f"{row.useful_share:.3f}"
        print(
            f"{strategy:14s} {seed:4d}  {share:>6s}  {row.wall_seconds:6.1f}  "
            f"{row.setup_seconds:7.1f}  {row.trials:6d}  {text}"
        )
    devices = run.study.devices
    per_slot = devices.per_slot
    epochs = [
        seconds
        for cell in run.cells.values()
        for seconds in epoch_device_seconds(cell.reports, per_slot)
    ]
    print(
        f"{len(epochs)} epochs: mean {statistics.mean(epochs):.2f} device-seconds, "
        f"median {statistics.median(epochs):.2f}, max {max(epochs):.2f}"
    )


if __name__ == "__main__":
    main()
