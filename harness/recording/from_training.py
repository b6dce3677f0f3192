"""``record --benchmark``: trains what a table lacks and writes the table after every curve."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.describe import describe_benchmark
from benchmarks.recorded.table import Curve, Recording, curve_key, write_table
from benchmarks.registry import BENCHMARKS, make_benchmark
from harness.clock import utc_timestamp
from harness.console import say
from harness.provenance import git_state, machine, versions
from harness.recording.condition import parse_condition
from harness.recording.design import design
from harness.recording.target import open_table, say_what_there_is
from harness.recording.trainer import Failed, SessionSpec, train_curves


@dataclass(frozen=True)
class RecordingPlan:
    """What to train: ``configs`` points of the design; the first ``repeat_configs`` of them, and
    all for which one of ``repeat_where`` holds, with every seed from 0 to ``repeat_seeds`` − 1,
    the others with seed 0."""

    benchmark: str
    options: dict[str, Any]
    files: tuple[Path, ...]
    configs: int
    repeat_configs: int
    repeat_where: tuple[str, ...]
    repeat_seeds: int
    design_seed: int
    data_seed: int
    data_dir: Path | None
    jobs: int | None


def record_training(plan: RecordingPlan, out: Path, console: Console) -> int:
    """Train what the table lacks and write it after every curve; returns the exit code."""
    for path in plan.files:
        BENCHMARKS.add_file(path)
    benchmark = make_benchmark(plan.benchmark, plan.options)
    dataset = benchmark.find_data(plan.data_dir)
    described = describe_benchmark(benchmark, dataset, plan.data_seed)
    where = [parse_condition(text, described.space) for text in plan.repeat_where]
    source = f"training, {plan.configs} points of the Sobol' sequence {plan.design_seed}"
    table, recording = open_table(out, described, _recording(source))
    points = design(described.space, plan.configs, plan.design_seed)
    repeated = [
        index < plan.repeat_configs or any(condition.holds(config) for condition in where)
        for index, config in enumerate(points)
    ]
    wanted = [
        (config, seed)
        for config, several in zip(points, repeated, strict=True)
        for seed in range(plan.repeat_seeds if several else 1)
    ]
    done = {curve.key for curve in table.curves}
    missing = [(config, seed) for config, seed in wanted if curve_key(config, seed) not in done]
    jobs = plan.jobs or len(os.sched_getaffinity(0))
    say(
        console,
        f"{out}: {len(wanted) - len(missing)} of {len(wanted)} curves are there; training "
        f"{len(missing)} more, {jobs} at a time",
    )
    spec = SessionSpec(plan.benchmark, plan.options, plan.files, dataset, plan.data_seed, recording)
    failed: list[Failed] = []
    with closing(train_curves(spec, missing, jobs)) as curves:
        for outcome in _shown(curves, len(missing), console):
            if isinstance(outcome, Failed):
                failed.append(outcome)
                continue
            table = table.with_curves([outcome])
            write_table(table, out)
    for failure in failed:
        console.print(
            f"failed: seed {failure.seed}, {failure.config}: {failure.reason}",
            style="red", markup=False, soft_wrap=True,
        )  # fmt: skip
    say_what_there_is(table, out, console)
    return 1 if failed else 0


def _recording(source: str) -> Recording:
    return Recording(
        source=source,
        device_kind="CPU",
        workers=1,
        seconds="cpu",
        versions=versions(),
        machine=machine(),
        git_commit=git_state()[0],
        recorded_at=utc_timestamp(),
    )


def _shown(
    outcomes: Iterator[Curve | Failed], total: int, console: Console
) -> Iterator[Curve | Failed]:
    """Pass outcomes on while a bar (or, without a terminal, lines) shows how far it is."""
    columns = (
        TextColumn("training curves"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        for number, outcome in enumerate(outcomes, start=1):
            yield outcome
            progress.advance(task)
            if not console.is_terminal:
                last = (
                    outcome.reason
                    if isinstance(outcome, Failed)
                    else f"final score {outcome.epochs[-1].validation_score:.4f}"
                )
                console.print(f"{number} of {total} curves: {last}", highlight=False, markup=False)
