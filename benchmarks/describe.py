"""A benchmark as plain data, for the run store and for recorded tables."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.registry import options_of
from benchmarks.space import describe_space
from harness.contract import Benchmark, Dataset
from harness.contract.records import BenchmarkRecord


def describe_benchmark(
    benchmark: Benchmark, dataset: Dataset, data_seed: int, targets: Sequence[float] | None = None
) -> BenchmarkRecord:
    """See :class:`BenchmarkRecord`; ``targets`` take the place of the benchmark's own.

    Raises:
        UsageError: a space that is refused.
    """
    wanted = benchmark.targets if targets is None else targets
    return BenchmarkRecord(
        name=benchmark.name,
        options=options_of(benchmark),
        metric=benchmark.metric,
        mode=benchmark.mode,
        test_metric=benchmark.test_metric,
        max_epochs=benchmark.max_epochs,
        space=describe_space(benchmark.space(), benchmark.mutable),
        dataset_source=dataset.source,
        dataset_sha256=dataset.sha256,
        data_seed=data_seed,
        caveats=list(benchmark.caveats),
        targets=sorted(wanted, reverse=benchmark.mode == "min"),
    )
