"""Benchmarks that replay a table of recorded learning curves: no training, no data, no devices."""

from benchmarks.recorded.benchmark import FashionMNISTTable, RecordedTableBenchmark

__all__ = ["FashionMNISTTable", "RecordedTableBenchmark"]
