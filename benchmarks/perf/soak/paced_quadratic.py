"""The noisy quadratic with epochs that take real time, so that a kill can fall into one: a file for
``--benchmark-file``. What a trial comes to can be computed, whatever happened to its processes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.analytic import noisy_quadratic
from benchmarks.analytic.quadratic_session import QuadraticSession
from harness.contract import Dataset, DeviceKind, Session, Worker


class PacedSession(QuadraticSession):
    def __init__(self, data_seed: int, epoch_seconds: float) -> None:
        super().__init__(data_seed)
        self._epoch_seconds = epoch_seconds

    def train_epoch(self) -> Mapping[str, float]:
        time.sleep(self._epoch_seconds)
        return super().train_epoch()


@dataclass(frozen=True)
class PacedQuadratic(noisy_quadratic.NoisyQuadratic):
    name = "paced_quadratic"
    summary = "The noisy quadratic, at the pace of a clock"
    light_sessions = False

    max_epochs: Annotated[int, Field(ge=1)] = 9
    epoch_seconds: Annotated[float, Field(gt=0)] = 0.3

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return self.epoch_seconds

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return PacedSession(data_seed, self.epoch_seconds)
