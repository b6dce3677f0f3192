"""The small contract that the four packages share; no Ray, no torch, no files."""

from harness.contract.benchmark import (
    DEVICE_NAMES,
    Benchmark,
    Config,
    Dataset,
    DeviceKind,
    EpochCost,
    Mode,
    Session,
    Worker,
)
from harness.contract.errors import HarnessError, UsageError, unknown_name
from harness.contract.strategy import Plan, Problem, Strategy

__all__ = [
    "DEVICE_NAMES",
    "Benchmark",
    "Config",
    "Dataset",
    "DeviceKind",
    "EpochCost",
    "HarnessError",
    "Mode",
    "Plan",
    "Problem",
    "Session",
    "Strategy",
    "UsageError",
    "Worker",
    "unknown_name",
]
