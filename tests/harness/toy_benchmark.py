"""A benchmark file with toys that train in no time and can go wrong in every way.

A trial's ``fault`` (a parameter of the space, so that one cell can show them all) is what happens
at its epoch ``FAULTY_EPOCH``; the score of epoch e is ``x · (1 − 2⁻ᵉ)``, or that negated where less
is better.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import psutil
from pydantic import Field
from pydantic.dataclasses import dataclass

from harness.contract import Benchmark, Config, Dataset, DeviceKind, Session, Worker

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

FAULTY_EPOCH = 2


class ToySession(Session):
    def __init__(self, toy: Toy, worker: Worker) -> None:
        self._toy, self._worker = toy, worker
        if toy.faults == "session":
            raise OSError("no disk here")

    def start(self, config: Config, seed: int) -> None:
        self._config, self._epoch, self._lineage = config, 0, [config["x"]]

    def train_epoch(self) -> Mapping[str, float]:
        self._epoch += 1
        time.sleep(self._toy.epoch_seconds)
        if self._epoch == FAULTY_EPOCH:
            self._go_wrong(self._config["fault"])
        return {"train_loss": 1.0 / self._epoch}

    def evaluate(self) -> Mapping[str, float]:
        fault = self._config["fault"] if self._epoch == FAULTY_EPOCH else ""
        score = self._toy.sign * self._config["x"] * (1 - 0.5**self._epoch)
        odd = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
        metrics = {"score": odd.get(fault, score), "loss": -score, "test": score / 2}
        if fault == "no_metric":
            del metrics["score"]
        return metrics

    def state(self) -> Mapping[str, Any]:
        import torch  # Only a worker needs it: seconds in every other process of a cell.

        return {
            "epoch": self._epoch,
            "lineage": self._lineage,
            "weights": torch.zeros(int(self._toy.state_megabytes * 2**18)),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self._epoch, self._lineage = state["epoch"], [*state["lineage"], self._config["x"]]

    def _go_wrong(self, fault: str) -> None:
        if fault == "raise":
            raise ValueError(f"x = {self._config['x']} is too much")
        if fault == "raise_once" and self._is_first_time():
            raise ValueError("a passing trouble")
        if fault == "one_rank" and self._worker.rank == 1:
            raise RuntimeError("rank 1 alone is in trouble")
        if fault == "hang" or (fault == "rank_1_hangs" and self._worker.rank == 1):
            time.sleep(1000)
        if fault == "wait_once" and self._is_first_time():
            while not Path(self._toy.folder, "go").exists():
                time.sleep(0.01)
        if fault == "die_once" and self._worker.rank == 1 and self._is_first_time():
            os._exit(3)

    def _is_first_time(self) -> bool:
        marker = Path(self._toy.folder, f"{self._config['fault']}-{self._worker.rank}")
        if marker.exists():
            return False
        marker.touch()
        return True


@dataclass(frozen=True)
class Toy(Benchmark):
    name = "toy"
    summary = "a toy that can go wrong"
    metric = "score"
    mode = "max"
    test_metric = "test"
    loss_metric = "loss"
    mutable = frozenset({"x"})
    sign = 1.0

    faults: str = "none"
    max_epochs: Annotated[int, Field(ge=1)] = 9
    epoch_seconds: float = 0.05
    state_megabytes: float = 0.1
    folder: str = ""

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {"x": tune.uniform(0.0, 1.0), "fault": tune.choice(self.faults.split(","))}

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return 2 * self.epoch_seconds + 0.05

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return ToySession(self, worker)


class ToyMin(Toy):
    name = "toy_min"
    mode = "min"
    sign = -1.0


class ToyWithoutCheckpoints(Toy):
    name = "toy_without_checkpoints"
    gives_checkpoints = False


class MemorySession(ToySession):
    """Holds as much per trial as its state has; the test score is this process's memory in MB."""

    def start(self, config: Config, seed: int) -> None:
        import torch

        super().start(config, seed)
        self._held = torch.ones(int(self._toy.state_megabytes * 2**18))

    def evaluate(self) -> Mapping[str, float]:
        own_mb = psutil.Process().memory_full_info().uss / 2**20
        return {**super().evaluate(), "test": own_mb}


class ToyThatTellsItsMemory(Toy):
    name = "toy_that_tells_its_memory"

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return MemorySession(self, worker)
