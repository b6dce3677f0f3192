"""A mixed space: categorical, integer and float parameters, one of them conditional.

Spaces are flat here, so ``momentum`` is always drawn, but counts only where ``optimizer`` is
``sgd``: a searcher has to find out by itself that it is idle elsewhere. SGD steps with an effective
learning rate of lr / (1 − momentum) and ends a little higher than Adam where that is well chosen,
and far lower, or diverged, where not.
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

BEST_STEP = {"sgd": 0.3, "adam": 0.003}
BEST_SCORE = {"sgd": 0.94, "adam": 0.93}
DECADES_WIDE = {"sgd": 0.7, "adam": 1.2}
"""How far off, in powers of ten, the step size may be before the score suffers by a third."""
DIVERGES_ABOVE = {"sgd": 10.0, "adam": 0.5}
CHANCE = 0.1
BEST_DEPTH = 5
SEED_SD, EVALUATION_SD = 0.004, 0.003
MEAN_TRAIN_SECONDS = 3.43
"""Over the space: the mean of :func:`train_seconds`."""

SEED, DIVERGENCE, VALIDATION, TEST = range(4)


class ConditionalCurve(LearningCurve):
    """``chance + rise · (1 − e^(−epoch / time))``; too large steps diverge in one of the first
    epochs."""

    def __init__(self, config: Config, seed: int, max_epochs: int) -> None:
        self._noise = Noise(_what_counts(config), seed)
        step = effective_step(config)
        optimizer = config["optimizer"]
        self._rise = final_score(config) + SEED_SD * self._noise.normal(SEED) - CHANCE
        # Small steps take longer, up to the whole training.
        share = (BEST_STEP[optimizer] / step) ** 0.25 / 10
        self._time = max_epochs * min(share, 1.0)
        # The further above the limit, the sooner.
        excess = step / DIVERGES_ABOVE[optimizer]
        self._diverges_at = (
            1 + int(3 * self._noise.uniform(DIVERGENCE) / excess) if excess > 1 else math.inf
        )
        self.cost = EpochCost(
            train=train_seconds(config), evaluate=0.2 * train_seconds(config), checkpoint=0.1,
            start=1.0,
        )  # fmt: skip

    def train_metrics(self, epoch: int) -> Mapping[str, float]:
        return {"train_loss": -math.log(self._expected(epoch))}

    def validation_score(self, epoch: int) -> float:
        return self._expected(epoch) + EVALUATION_SD * self._noise.normal(VALIDATION, epoch)

    def scores(self, epoch: int) -> Mapping[str, float]:
        expected = self._expected(epoch)
        return {
            "validation_accuracy": self.validation_score(epoch),
            "validation_loss": -math.log(expected),
            "test_accuracy": expected + EVALUATION_SD * self._noise.normal(TEST, epoch),
        }

    def _expected(self, epoch: int) -> float:
        if epoch >= self._diverges_at:
            return math.nan
        return CHANCE + self._rise * (1.0 - math.exp(-epoch / self._time))


def _what_counts(config: Config) -> Config:
    """Without a momentum that nothing uses: changing it changes nothing, not even the noise."""
    return {
        name: value
        for name, value in config.items()
        if name != "momentum" or config["optimizer"] == "sgd"
    }


def effective_step(config: Config) -> float:
    """The learning rate, for SGD over 1 − momentum, which is how far momentum carries a step."""
    if config["optimizer"] == "sgd":
        return config["lr"] / (1.0 - config["momentum"])
    return config["lr"]


def final_score(config: Config) -> float:
    """Where the curve ends up, without noise and where it does not diverge."""
    optimizer = config["optimizer"]
    off = math.log10(effective_step(config) / BEST_STEP[optimizer]) / DECADES_WIDE[optimizer]
    depth, width = config["depth"], config["width"]
    fit = math.exp(-0.4 * off * off) - 0.008 * (depth - BEST_DEPTH) ** 2 - 1.6 / width
    return max(CHANCE, BEST_SCORE[optimizer] - (BEST_SCORE[optimizer] - CHANCE) * (1.0 - fit))


def train_seconds(config: Config) -> float:
    """Device-seconds an epoch: what is there for any model, and what grows with its layers."""
    return 1.0 + config["depth"] * (config["width"] / 256) ** 1.5


@dataclass(frozen=True)
class ConditionalSpace(CurveBenchmark):
    """``momentum`` matters to SGD alone; depth and width, both integers, decide the cost."""

    name = "conditional_space"
    summary = "Optimizer, its conditional momentum, integer depth and width; some of it diverges"
    metric = "validation_accuracy"
    mode = "max"
    test_metric = "test_accuracy"
    loss_metric = "validation_loss"
    targets = (0.45, 0.79, 0.884, 0.917)

    max_epochs: Annotated[int, Field(ge=1)] = 27

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {
            "optimizer": tune.choice(["sgd", "adam"]),
            "lr": tune.loguniform(1e-5, 1.0),
            "momentum": tune.uniform(0.0, 0.99),
            "depth": tune.randint(1, 9),
            "width": tune.lograndint(16, 513),
        }

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return 1.2 * MEAN_TRAIN_SECONDS + 0.1

    def curve(self, config: Config, seed: int) -> LearningCurve:
        return ConditionalCurve(config, seed, self.max_epochs)
