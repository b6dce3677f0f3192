"""A study with everything decided: what every executor runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.contract import Benchmark, Dataset, Strategy
from harness.contract.records import DevicesRecord
from harness.study import StudyConfig


@dataclass(frozen=True)
class DecidedStudy:
    config: StudyConfig
    benchmark: Benchmark
    dataset: Dataset
    strategies: list[Strategy]
    devices: DevicesRecord
    budget_device_seconds: float

    @cached_property
    def cells(self) -> list[tuple[str, int]]:
        """Seed by seed, so that an interrupted study has every strategy for the seeds it did."""
        return [(s.name, seed) for seed in self.config.seeds for s in self.strategies]

    @property
    def cell_seconds(self) -> float:
        """How long the budget lasts with all devices held."""
        return self.budget_device_seconds / self.devices.held

    @cached_property
    def budget_epochs(self) -> float:
        epoch = self.benchmark.epoch_device_seconds(self.devices.kind)
        return self.budget_device_seconds / epoch

    def fields(self) -> dict[str, Any]:
        """The fields of a :class:`harness.cell.StudySpec`."""
        return {
            "study": self.config,
            "dataset_path": self.dataset.path,
            "dataset_source": self.dataset.source,
            "dataset_sha256": self.dataset.sha256,
            "devices": self.devices,
        }

    def cell_fields(self, strategy: str, seed: int) -> dict[str, Any]:
        """The fields of a :class:`harness.cell.CellSpec`."""
        return {
            **self.fields(),
            "strategy": strategy,
            "seed": seed,
            "budget_device_seconds": self.budget_device_seconds,
            "budget_epochs": self.budget_epochs,
        }
