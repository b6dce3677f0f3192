"""Sessions of benchmarks whose learning curve is a formula of configuration, seed and epoch."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.contract import Benchmark, Config, Dataset, EpochCost, Session, Worker


class LearningCurve:
    """One configuration trained with one seed: its metrics at every epoch, and an epoch's cost."""

    cost: EpochCost
    """Of the first epoch, so with the trial's start."""

    @abstractmethod
    def train_metrics(self, epoch: int) -> Mapping[str, float]: ...

    @abstractmethod
    def validation_score(self, epoch: int) -> float:
        """The benchmark's metric, which is among the scores as well."""

    @abstractmethod
    def scores(self, epoch: int) -> Mapping[str, float]: ...


class CurveBenchmark(Benchmark):
    """A family of learning curves. A configuration must not change in the middle of a trial: such
    a formula has no weights that could carry over, so nothing is mutable."""

    light_sessions = True

    @abstractmethod
    def curve(self, config: Config, seed: int) -> LearningCurve:
        """The curve of a configuration."""

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return CurveSession(self)


class CurveSession(Session):
    """Goes along a curve: its only state is the epoch."""

    def __init__(self, benchmark: CurveBenchmark) -> None:
        self._benchmark = benchmark

    def start(self, config: Config, seed: int) -> None:
        self._curve, self._epoch = self._benchmark.curve(config, seed), 0

    def train_epoch(self) -> Mapping[str, float]:
        self._epoch += 1
        return self._curve.train_metrics(self._epoch)

    def evaluate(self) -> Mapping[str, float]:
        return self._curve.scores(self._epoch)

    def state(self) -> Mapping[str, Any]:
        return {"epoch": self._epoch}

    def load(self, state: Mapping[str, Any]) -> None:
        self._epoch = state["epoch"]

    def epoch_cost(self) -> EpochCost:
        cost = self._curve.cost
        return cost if self._epoch <= 1 else replace(cost, start=0.0)

    def scores_ahead(self, epochs: int) -> Sequence[float]:
        scores: list[float] = []
        for epoch in range(self._epoch + 1, self._epoch + epochs + 1):
            scores.append(self._curve.validation_score(epoch))
            if not math.isfinite(scores[-1]):
                break
        return scores
