"""Learning curves that cross: the configurations that end best look worst at first.

A small learning rate rises late and ends high, a large one rises at once and ends low. Whatever
judges by early scores, as successive halving does, stops the winners; running to completion finds
them. It is the honest counter-example to early stopping, not a caricature: a schedule of warm-up
and decay, strong regularisation or a small learning rate make curves cross in practice, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.analytic.curves import CurveBenchmark, LearningCurve
from benchmarks.noise import Noise
from harness.contract import Config, DeviceKind, EpochCost

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

LR_LOW, LR_HIGH = 1e-4, 1e-1
DROPOUT_OPTIMUM = 0.3
CHANCE, BEST, SPREAD = 0.1, 0.9, 0.3
"""Scores: of an untrained model, of the best configuration, and what the largest lr ends below."""
HALF_RISE_FASTEST, HALF_RISE_SLOWEST = 0.03, 0.38
"""The epoch of half the rise, as a share of the cap, at the largest and the smallest lr."""
SEED_SD, EVALUATION_SD = 0.003, 0.002
COST = EpochCost(train=9.0, evaluate=1.0, checkpoint=0.1, start=0.5)

SEED, VALIDATION, TEST = range(3)


class SlowStartersCurve(LearningCurve):
    """``chance + rise · (1 − 2^−(epoch / half_rise)²)``, plus noise of the seed and of each epoch's
    evaluation."""

    cost = COST

    def __init__(self, config: Config, seed: int, max_epochs: int) -> None:
        self._noise = Noise(config, seed)
        final = final_score(config) + SEED_SD * self._noise.normal(SEED)
        self._rise = final - CHANCE
        slow = slowness(config)
        share = HALF_RISE_FASTEST + (HALF_RISE_SLOWEST - HALF_RISE_FASTEST) * slow
        self._half_rise = share * max_epochs

    def train_metrics(self, epoch: int) -> Mapping[str, float]:
        return {"train_loss": -math.log(self._expected(epoch))}

    def validation_score(self, epoch: int) -> float:
        return self._expected(epoch) + EVALUATION_SD * self._noise.normal(VALIDATION, epoch)

    def scores(self, epoch: int) -> Mapping[str, float]:
        expected = self._expected(epoch)
        return {
            "validation_score": self.validation_score(epoch),
            "validation_loss": -math.log(expected),
            "test_score": expected + EVALUATION_SD * self._noise.normal(TEST, epoch),
        }

    def _expected(self, epoch: int) -> float:
        return CHANCE + self._rise * (1.0 - 2.0 ** -((epoch / self._half_rise) ** 2))


def slowness(config: Config) -> float:
    """1 at the smallest learning rate, 0 at the largest, linear in its logarithm."""
    return math.log(LR_HIGH / config["lr"]) / math.log(LR_HIGH / LR_LOW)


def final_score(config: Config) -> float:
    """Where the curve ends up, without noise: at most 0.9, at the smallest lr and dropout 0.3."""
    fast = 1.0 - slowness(config)
    return BEST - SPREAD * fast - 0.2 * (config["dropout"] - DROPOUT_OPTIMUM) ** 2


@dataclass(frozen=True)
class SlowStarters(CurveBenchmark):
    """Final scores fall with the learning rate, early ones rise with it."""

    name = "slow_starters"
    summary = "Learning curves that cross: winners look bad early, so early stopping must lose"
    metric = "validation_score"
    mode = "max"
    test_metric = "test_score"
    loss_metric = "validation_loss"
    targets = (0.74, 0.83, 0.874, 0.887)

    max_epochs: Annotated[int, Field(ge=1)] = 27

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {"lr": tune.loguniform(LR_LOW, LR_HIGH), "dropout": tune.uniform(0.0, 0.8)}

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return COST.train + COST.evaluate + COST.checkpoint

    def curve(self, config: Config, seed: int) -> LearningCurve:
        return SlowStartersCurve(config, seed, self.max_epochs)
