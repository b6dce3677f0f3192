"""A study's work as data, whatever executor does it: what a cell is given, and how far it is."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.contract import Dataset
from harness.contract.records import DevicesRecord
from harness.study import StudyConfig


class StudySpec(BaseModel):
    """What trains for a study, and on what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: StudyConfig
    dataset_path: Path | None
    dataset_source: str
    dataset_sha256: str
    devices: DevicesRecord

    @property
    def dataset(self) -> Dataset:
        return Dataset(self.dataset_path, self.dataset_source, self.dataset_sha256)


class CellSpec(StudySpec):
    """``budget_epochs``: about how many epochs of one trial the budget pays for."""

    strategy: str
    seed: int
    budget_device_seconds: float
    budget_epochs: float

    @property
    def budget_seconds(self) -> float:
        """Seconds that the budget lasts, all slots held."""
        return self.budget_device_seconds / self.devices.held


class CellProgress(BaseModel):
    """A cell's state for the live table."""

    phase: str
    running: int = 0
    paused: int = 0
    stopped: int = 0
    finished: int = 0
    failed: int = 0
    epochs: int = 0
    held_device_seconds: float = 0.0
    incumbent: float | None = None
    test_of_incumbent: float | None = None
