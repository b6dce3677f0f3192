"""A session of a run's benchmark in this process, ready to take an incumbent's checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.registry import BENCHMARKS, make_benchmark
from harness.contract import Session, UsageError, Worker
from reports.store import read_study


def fresh_session(
    run: str | Path,
    *,
    device: str = "cpu",
    data_dir: str | Path | None = None,
    benchmark_files: Iterable[str | Path] = (),
) -> Session:
    """Build the session that a run's trials were trained by: one worker, the run's own data split.

    Args:
        run: the run folder.
        device: a torch device, e.g. ``"cuda"``.
        data_dir: where the data set lies, where it is not where the run had it.
        benchmark_files: Python files that define the benchmark. Those that the run names are never
            imported by themselves: a run folder is data, and may be a stranger's.

    Raises:
        UsageError: no run folder, an unknown benchmark, or data that is missing or not the run's.
    """
    study = read_study(Path(run))
    for file in benchmark_files:
        BENCHMARKS.add_file(Path(file))
    asked = study.benchmark
    benchmark = make_benchmark(asked.name, asked.options)
    place = data_dir or study.study.get("data_dir")
    dataset = benchmark.find_data(Path(place) if place else None)
    if dataset.sha256 != asked.dataset_sha256:
        raise UsageError(
            f"the data found here ({dataset.source}: SHA-256 {dataset.sha256[:16]}…) is not what "
            f"{run} was trained on ({asked.dataset_source}: {asked.dataset_sha256[:16]}…); "
            "give the folder of that one with data_dir"
        )
    return benchmark.session(Worker(device=device), dataset, asked.data_seed)
