"""A benchmark file with toys for the virtual clock: exact costs, and every way to go wrong.

An epoch takes 10 device-seconds (8 train, 1.5 evaluate, 0.5 checkpoint), and a trial's start 2. A
trial's ``fault`` is what happens at its epoch ``FAULTY_EPOCH`` (``raise_twice``: at the next as
well). Scores depend on all that was trained before, so that a session handed to the wrong trial
would show.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from harness.contract import (
    Benchmark,
    Config,
    Dataset,
    DeviceKind,
    EpochCost,
    Session,
    Worker,
)

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

FAULTY_EPOCH = 2
HELD_SEED = 1
EPOCH = EpochCost(train=8.0, evaluate=1.5, checkpoint=0.5)
EPOCH_SECONDS, START_SECONDS = 10.0, 2.0

ODD_SCORES = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
ODD_COSTS = {
    "nan_cost": EpochCost(math.nan),
    "negative_cost": EpochCost(8.0, checkpoint=-1.0),
    "no_cost": EpochCost(0.0),
    "tiny_cost": EpochCost(1e-9),
    "processor_time": EpochCost(8.0, 1.5, 0.5, is_processor_time=True),
    "default_cost": None,
}
FAULTS = ("none", "raise", "raise_once", "raise_twice", "no_metric", *ODD_SCORES, *ODD_COSTS)


class ClockworkSession(Session):
    def __init__(self, sign: float) -> None:
        self._sign = sign
        self._raised: set[float] = set()

    def start(self, config: Config, seed: int) -> None:
        self._config, self._seed = config, seed
        self._trained: list[float] = []

    def train_epoch(self) -> Mapping[str, float]:
        x, fault = self._config["x"], self._config["fault"]
        self._trained.append(x)
        if self._fault == "raise":
            raise ValueError(f"x = {x} is too much")
        if self._fault in ("raise_once", "raise_twice") and x not in self._raised:
            self._raised.add(x)
            raise ValueError(f"a passing trouble with {fault}")
        if fault == "raise_twice" and len(self._trained) > FAULTY_EPOCH:
            raise ValueError("and again")
        return {"train_loss": 1.0 / len(self._trained)}

    def evaluate(self) -> Mapping[str, float]:
        score = 0.0
        for x in self._trained:
            score += (x - score) / 3 + 1e-3 * math.sin(self._seed + 100 * x)
        score = ODD_SCORES.get(self._fault, self._sign * score)
        metrics = {"score": score, "loss": -score, "test": score / 2}
        if self._fault == "no_metric":
            del metrics["score"]
        return metrics

    def state(self) -> Mapping[str, Any]:
        return {"trained": list(self._trained)}

    def load(self, state: Mapping[str, Any]) -> None:
        self._trained = list(state["trained"])

    def epoch_cost(self) -> EpochCost | None:
        start = START_SECONDS if len(self._trained) == 1 else 0.0
        usual = EpochCost(EPOCH.train, EPOCH.evaluate, EPOCH.checkpoint, start)
        return ODD_COSTS.get(self._fault, usual)

    @property
    def _fault(self) -> str:
        return str(self._config["fault"]) if len(self._trained) == FAULTY_EPOCH else ""


@dataclass(frozen=True)
class Clockwork(Benchmark):
    """Option ``faults``: a comma-separated list to choose from, trial by trial."""

    name = "clockwork"
    summary = "a toy with exact costs that can go wrong"
    metric = "score"
    mode = "max"
    test_metric = "test"
    loss_metric = "loss"
    mutable = frozenset({"x"})
    light_sessions = True
    sign = 1.0

    faults: str = "none"
    max_epochs: Annotated[int, Field(ge=1)] = 9

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {"x": tune.uniform(0.0, 1.0), "fault": tune.choice(self.faults.split(","))}

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return EPOCH_SECONDS

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return ClockworkSession(self.sign)


class HeavyClockwork(Clockwork):
    """The same, but its sessions are said to be costly to keep."""

    name = "heavy_clockwork"
    light_sessions = False


class ClockworkMin(Clockwork):
    name = "clockwork_min"
    mode = "min"
    sign = -1.0


class ClockworkWithoutCheckpoints(Clockwork):
    name = "clockwork_without_checkpoints"
    light_sessions = False
    gives_checkpoints = False


@dataclass(frozen=True)
class BadDeclaration(Clockwork):
    """Declares an epoch's cost as told by its option: a number, or ``raise``."""

    name = "bad_declaration"

    declares: str = "nan"

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        if self.declares == "raise":
            raise RuntimeError("nobody measured this")
        return float(self.declares)


class HeldSession(ClockworkSession):
    def __init__(self, gate: str) -> None:
        super().__init__(1.0)
        self._gate = Path(gate)

    def start(self, config: Config, seed: int) -> None:
        while seed == HELD_SEED and not self._gate.exists():
            time.sleep(0.05)
        super().start(config, seed)


@dataclass(frozen=True)
class HeldClockwork(Clockwork):
    """Its cells of one seed wait until the file ``gate`` is there."""

    name = "held_clockwork"

    gate: str = ""

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return HeldSession(self.gate)


class NoSession(Clockwork):
    name = "no_session"

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        raise OSError("no disk here")
