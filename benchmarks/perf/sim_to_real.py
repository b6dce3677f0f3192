"""Sim to real: a finished cluster run beside the same study on the virtual clock.

The virtual study has the run's strategies, seeds, budget, devices and epochs cap; its benchmark is
a recorded one. Costs are those of ``--costs`` (default: the shipped ones). Every figure is a mean
over seeds; virtual ones are over more seeds than real ones (``--seeds``), since they cost nothing.
Two runs of a seed share their start and not their order of events, so that seeds do not pair: each
difference is given in standard errors, too. The best score's is set against the real runs' own
spread over seeds.

    python -m harness run --strategies random/fifo,random/asha,optuna/asha,pbt --seeds 3 \
        --workers-per-trial 1 --budget 0.05 --out runs/real
    python -m benchmarks.perf.sim_to_real runs/real [--benchmark fashion_mnist_table]
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.registry import make_benchmark
from harness.contract.records import KINDS, CellSummary
from reports.analysis.analyse import analyse
from reports.run import Run
from reports.store import read_run

TOLERANCE = 0.15
"""Counts and savings are meant to agree this well."""

Figure = Callable[[CellSummary], float]

FIGURES: dict[str, Figure] = {
    "trials started": lambda cell: cell.trials,
    "epochs run": lambda cell: cell.epochs_run,
    "epoch savings": lambda cell: cell.epoch_savings,
} | {
    f"{kind}, device-s": lambda cell, kind=kind: cell.device_seconds_by_kind.get(kind, 0.0)
    for kind in KINDS
}


def run_virtual(real: Run, benchmark: str, costs: Path | None, seeds: int, out: Path) -> Run:
    study, devices = real.study, real.study.devices
    original = make_benchmark(study.benchmark.name, study.benchmark.options)
    # Populations and initial points are sized by what the benchmark declares, not by what it takes.
    declared = original.epoch_device_seconds(devices.kind)
    held = devices.held
    if held != int(held):
        sys.exit(f"error: the run holds {held:g} devices; a virtual cluster has whole ones")
    command = [
        sys.executable, "-m", "harness", "run", "--executor", "virtual",
        "--benchmark", benchmark,
        "--benchmark-option", f"max_epochs={study.benchmark.max_epochs}",
        "--benchmark-option", f"epoch_seconds={declared!r}",
        "--strategies", ",".join(strategy.name for strategy in study.strategies),
        "--seeds", str(seeds),
        "--budget", repr(study.budget_device_seconds / 3600),
        "--devices", str(int(held)),
        "--devices-per-worker", repr(devices.devices_per_worker),
        "--workers-per-trial", str(devices.workers_per_trial),
        "--max-concurrent", str(devices.slots),
        "--out", str(out),
    ]  # fmt: skip
    if costs is not None:
        command += ["--costs", str(costs)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return read_run(out)


def cells_of(run: Run, strategy: str) -> list[CellSummary]:
    by_seed = analyse(run).summary.strategies[strategy]
    return [cell for cell in by_seed.values() if cell.status == "completed"]


def mean_and_error(cells: Sequence[CellSummary], figure: Figure) -> tuple[float, float]:
    """The mean over seeds and its standard error (NaN from one seed)."""
    values = [figure(cell) for cell in cells]
    if len(values) < 2:
        return values[0], math.nan
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def compare(real: Run, virtual: Run) -> None:
    for strategy in (strategy.name for strategy in real.study.strategies):
        ours, theirs = cells_of(virtual, strategy), cells_of(real, strategy)
        for key in sorted(real.cells.keys() & virtual.cells.keys()):
            settings = virtual.cells[key].record.settings, real.cells[key].record.settings
            if key[0] == strategy and settings[0] != settings[1]:
                print(f"\nnot the same settings, {key}: real {settings[1]}, virtual {settings[0]}")
        print(
            f"\n{strategy} ({len(theirs)} real seeds, {len(ours)} virtual)     real   virtual   "
            "difference   in standard errors"
        )
        for name, figure in FIGURES.items():
            (r, r_error), (v, v_error) = (
                mean_and_error(theirs, figure),
                mean_and_error(ours, figure),
            )
            error = math.hypot(r_error, v_error)
            is_share = name == "epoch savings"
            off = v - r if is_share or not r else v / r - 1
            mark = "" if abs(off) <= TOLERANCE or "device-s" in name else "  > 15 %"
            in_errors = f"{(v - r) / error:+.1f}" if error > 0 else ""
            print(f"  {name:26s} {r:10.3f} {v:9.3f} {off:+12.1%} {in_errors:>8s}{mark}")
        for name in ("best_validation", "test_of_incumbent"):
            real_scores = [getattr(cell, name) for cell in theirs]
            virtual_scores = [getattr(cell, name) for cell in ours]
            spread = max(real_scores) - min(real_scores)
            off = statistics.mean(virtual_scores) - statistics.mean(real_scores)
            verdict = "within" if abs(off) <= spread else "outside"
            print(
                f"  {name.replace('_', ' '):26s} {statistics.mean(real_scores):10.4f} "
                f"{statistics.mean(virtual_scores):9.4f} {off:+12.4f}  {verdict} the real seeds' "
                f"range of {spread:.4f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a finished run of the cluster executor")
    parser.add_argument("--benchmark", default="fashion_mnist_table")
    parser.add_argument("--costs", type=Path)
    parser.add_argument("--seeds", type=int, default=30, help="of the virtual study")
    arguments = parser.parse_args()
    real = read_run(arguments.run)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "virtual"
        compare(real, run_virtual(real, arguments.benchmark, arguments.costs, arguments.seeds, out))


if __name__ == "__main__":
    main()
