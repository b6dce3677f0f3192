"""A benchmark as plain data, for the run store and for recorded tables."""

from __future__ import annotations

from benchmarks.registry import options_of
from benchmarks.space import describe_space
from harness.contract import Benchmark, Dataset
from harness.contract.records import BenchmarkRecord


def describe_benchmark(benchmark: Benchmark, dataset: Dataset, data_seed: int) -> BenchmarkRecord:
    """See :class:`BenchmarkRecord`. Raises :class:`UsageError` for a space that is refused."""
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
    )
