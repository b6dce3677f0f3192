"""Benchmarks with a fault each in what a trial does: a file for ``--benchmark-file``. Declared
space, metric and costs are the healthy benchmark's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic.dataclasses import dataclass

from benchmarks.analytic import noisy_quadratic
from benchmarks.analytic.quadratic_session import QuadraticSession
from benchmarks.recorded import benchmark as recorded
from benchmarks.recorded.session import TableSession
from harness.contract import Config, Dataset, EpochCost, Session, Worker

DECADE = 10.0
MAX_LR = 1.0
SLOWER = 1.3


class _TenfoldRate(TableSession):
    def start(self, config: Config, seed: int) -> None:
        super().start({**config, "lr": min(DECADE * config["lr"], MAX_LR)}, seed)


class _TenfoldQuadraticRate(QuadraticSession):
    def start(self, config: Config, seed: int) -> None:
        super().start({**config, "lr": DECADE * config["lr"]}, seed)


class _ScoredOnTraining(TableSession):
    """exp(−training loss), the geometric mean of the probabilities that training images' classes
    got: a table has no training accuracy."""

    def evaluate(self) -> Mapping[str, float]:
        scores = dict(super().evaluate())
        scores[self._names["validation_score"] or ""] = _fitted(self._at("train_loss"))
        return scores

    def scores_ahead(self, epochs: int) -> Sequence[float]:
        losses = self._track["train_loss"][self._epoch : self._epoch + epochs]
        return [_fitted(loss) for loss in losses] or [math.nan]


def _fitted(loss: float | None) -> float:
    return math.nan if loss is None or not math.isfinite(loss) else math.exp(-max(loss, 0.0))


class _HalfTrained(TableSession):
    """Every other batch is dropped: an epoch takes half the time and is half an epoch."""

    def start(self, config: Config, seed: int) -> None:
        super().start(config, seed)
        self._track = {
            column: [v for v in values for _ in range(2)] for column, values in self._track.items()
        }
        self._length *= 2

    def epoch_cost(self) -> EpochCost:
        cost = super().epoch_cost()
        return replace(cost, train=cost.train / 2)


class _Slower(TableSession):
    def epoch_cost(self) -> EpochCost:
        cost = super().epoch_cost()
        return replace(cost, train=SLOWER * cost.train, evaluate=SLOWER * cost.evaluate)


class _Faulty(recorded.TableBenchmark):
    session_class: ClassVar[type[TableSession]]

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        super().session(worker, dataset, data_seed)
        assert self._brought is not None
        return self.session_class(self, self._brought)


@dataclass(frozen=True)
class LearningRateShifted(_Faulty, recorded.FashionMNISTTable):
    name = "table-lr-decade"
    summary = "Trains with ten times the learning rate that it is given"
    session_class = _TenfoldRate


@dataclass(frozen=True)
class ValidatedOnTraining(_Faulty, recorded.FashionMNISTTable):
    name = "table-train-score"
    summary = "Reports how well the training data are fitted as the validation score"
    session_class = _ScoredOnTraining


@dataclass(frozen=True)
class EpochsHalved(_Faulty, recorded.FashionMNISTTable):
    name = "table-half-epochs"
    summary = "Leaves out every other batch"
    session_class = _HalfTrained


@dataclass(frozen=True)
class EpochsSlower(_Faulty, recorded.FashionMNISTTable):
    name = "table-slower"
    summary = "Takes 30 % longer for every epoch"
    session_class = _Slower


@dataclass(frozen=True)
class QuadraticLearningRateShifted(noisy_quadratic.NoisyQuadratic):
    name = "quadratic-lr-decade"
    summary = "Trains with ten times the learning rate that it is given"

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return _TenfoldQuadraticRate(data_seed)
