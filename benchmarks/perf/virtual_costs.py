"""Measures what the virtual executor charges for what it does not run, from a run on a cluster.

Best from strategies that stop (``random/asha``), propose (``optuna/asha``) and pause (``pbt``),
with nothing else running on the machine. Starting and stopping an actor that is not reused is
measured on a Ray of its own. How much longer an epoch takes on the cluster than the table says, and
packing its state, are compared with the recorded table of the same training on the same machine.

    python -m harness run --strategies random/asha,optuna/asha,hyperopt/asha,pbt \
        --workers-per-trial 1 --out runs/costs
    python -m benchmarks.perf.virtual_costs runs/costs [--out harness/virtual/costs.json]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import ray

from benchmarks.recorded.benchmark import SHIPPED_TABLE
from benchmarks.recorded.replay import Replay, whole_table
from harness.contract.files import write_atomically
from harness.contract.records import Kind, Report
from harness.virtual.costs import Costs
from reports.run import Cell, Run
from reports.store import read_run

PROBES = 5


def gaps(cell: Cell) -> Iterable[tuple[Report, Report, float]]:
    """Each pair of reports that follow each other on a slot, with the seconds between them."""
    last: dict[int, Report] = {}
    for report in sorted(cell.reports, key=lambda report: report.reported_s):
        if (before := last.get(report.slot)) is not None:
            yield before, report, report.started_s - before.reported_s
        last[report.slot] = report


def epoch_gaps(run: Run) -> list[float]:
    return [
        seconds
        for cell in run.cells.values()
        for before, after, seconds in gaps(cell)
        if before.trial == after.trial and before.decision == "continue"
    ]


def trial_gaps(run: Run) -> list[float]:
    """From a trial's end to the first epoch of a fresh one."""
    ends = ("stop", "finish", "diverged")
    return [
        seconds
        for cell in run.cells.values()
        for before, after, seconds in gaps(cell)
        if before.trial != after.trial and before.decision in ends and after.epoch == 1
    ]


def overhead_seconds(run: Run, kind: Kind, times: Sequence[int]) -> float:
    """Seconds of a slot that one writing (``checkpoint``) or reading (``restore``) of a checkpoint
    takes: what the ledger holds beyond the epochs' own spans, over how often it was done."""
    per_slot = run.study.devices.per_slot
    charged = spent_in_epochs = 0.0
    for cell in run.cells.values():
        charged += sum(row.device_seconds for row in cell.record.ledger if row.kind == kind)
        spent_in_epochs += sum(
            span.seconds * per_slot
            for report in cell.reports
            for span in report.spans
            if span.kind == kind
        )
    return max(charged - spent_in_epochs, 0.0) / per_slot / max(sum(times), 1)


def pauses(cell: Cell) -> int:
    return sum(report.decision == "pause" for report in cell.reports)


def resumptions(cell: Cell) -> int:
    """Epochs before which a checkpoint was read: those that follow a pause of their trial."""
    paused: Counter[int] = Counter()
    count = 0
    for report in cell.reports:
        count += paused[report.trial] > 0
        paused[report.trial] = int(report.decision == "pause")
    return count


def suggestion_seconds(run: Run) -> float:
    """The model-based searchers' time per trial, telling included."""
    cells = [cell for cell in run.cells.values() if cell.record.searcher_seconds > 0]
    trials = sum(sum(cell.record.trials.values()) for cell in cells)
    return sum(cell.record.searcher_seconds for cell in cells) / max(trials, 1)


def stretch_and_pack(run: Run, table: Path) -> tuple[float, float]:
    """Seconds of training and evaluating over those that the table has for the same epochs; and
    what an epoch's checkpoint takes beyond the table's."""
    replay = Replay(whole_table(table)[0])
    took = recorded = checkpoint = recorded_checkpoint = 0.0
    reports = [(c.record.seed, report) for c in run.cells.values() for report in c.reports]
    for seed, report in reports:
        spans: defaultdict[str, float] = defaultdict(float)
        for span in report.spans:
            spans[span.kind] += span.seconds
        track = replay.track(report.config, seed)
        place = min(report.epoch, len(track["train_seconds"])) - 1
        took += spans["train"] + spans["evaluate"]
        recorded += track["train_seconds"][place] + track["evaluate_seconds"][place]
        checkpoint += spans["checkpoint"]
        recorded_checkpoint += track["checkpoint_seconds"][place]
    stretch = max(took / recorded, 1.0)
    return stretch, max(checkpoint - stretch * recorded_checkpoint, 0.0) / len(reports)


class Probe:
    """An actor that loads what a trial's actor loads."""

    def __init__(self) -> None:
        import harness.cluster.trial_actor  # noqa: F401

    def ready(self) -> bool:
        return True


def actor_seconds() -> tuple[float, float]:
    """Medians of starting an actor in a process of its own, and of ending it."""
    ray.init(log_to_driver=False)
    starts, stops = [], []
    for _ in range(PROBES):
        started = time.monotonic()
        actor = ray.remote(num_cpus=0)(Probe).remote()
        ray.get(actor.ready.remote())
        starts.append(time.monotonic() - started)
        stopped = time.monotonic()
        ray.wait([actor.__ray_terminate__.remote()])
        stops.append(time.monotonic() - stopped)
    ray.shutdown()
    return statistics.median(starts), statistics.median(stops)


def measure(run: Run, table: Path) -> Costs:
    between_epochs, between_trials = epoch_gaps(run), trial_gaps(run)
    cells = list(run.cells.values())
    epoch_gap = statistics.median(between_epochs)
    start, stop = actor_seconds()
    stretch, pack = stretch_and_pack(run, table)
    machine = run.study.machine
    values = {
        "setup_seconds": statistics.median(cell.record.setup_seconds for cell in cells),
        "actor_start_seconds": start,
        "actor_stop_seconds": stop,
        "reset_seconds": max(statistics.median(between_trials) - epoch_gap, 0.0),
        "epoch_gap_seconds": epoch_gap,
        "save_seconds": overhead_seconds(run, "checkpoint", [pauses(cell) for cell in cells]),
        "restore_seconds": overhead_seconds(run, "restore", [resumptions(cell) for cell in cells]),
        "suggestion_seconds": suggestion_seconds(run),
        "pack_seconds": pack,
        "epoch_stretch": stretch,
    }
    source = (
        f"a run of {run.study.benchmark.name} on a cluster, {run.study.created_at[:10]}, "
        f"{machine.get('cpu_cores')} cores of an {machine.get('cpu')}, {len(between_epochs)} gaps "
        f"between epochs and {len(between_trials)} between trials"
    )
    return Costs(source=source, **{name: round(value, 4) for name, value in values.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, default=SHIPPED_TABLE)
    arguments = parser.parse_args()
    text = measure(read_run(arguments.run), arguments.table).model_dump_json(indent=2) + "\n"
    if arguments.out is None:
        print(text, end="")
    else:
        write_atomically(arguments.out, text)


if __name__ == "__main__":
    main()
