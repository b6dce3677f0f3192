"""Power-law learning curves down to an asymptote that is Hartmann's six-dimensional function.

Less is better here. The function has one global and five local minima, so a searcher that learns is
worth something; the curves' exponents differ, so some of them cross.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.analytic.curves import CurveBenchmark, LearningCurve
from benchmarks.noise import Noise
from harness.contract import Config, DeviceKind, EpochCost

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

ALPHA = (1.0, 1.2, 3.0, 3.2)
A = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
P = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)
OPTIMUM = (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
MINIMUM = -3.32237

NAMES = tuple(f"x{number}" for number in range(1, 7))
UNTRAINED_LOSS = 4.5
SLOWEST, FASTEST = 0.4, 1.2
"""Exponents of the power law, at x1 = 0 and x1 = 1."""
SEED_SD, EVALUATION_SD = 0.01, 0.005
"""Relative: the larger a loss, the noisier."""

SEED, VALIDATION, TEST = range(3)


def hartmann(x: Sequence[float]) -> float:
    """Hartmann (1973) in six dimensions, each in [0, 1]; constants as in Surjanovic & Bingham's
    library of test functions. Its minimum is −3.32237, at :data:`OPTIMUM`."""
    return -sum(
        weight * math.exp(-sum(a * (xi - p) ** 2 for a, p, xi in zip(row, centre, x, strict=True)))
        for weight, row, centre in zip(ALPHA, A, P, strict=True)
    )


class PowerLawCurve(LearningCurve):
    """``asymptote + (untrained − asymptote) · (1 + epoch)^−exponent``, times noise."""

    def __init__(self, config: Config, seed: int) -> None:
        x = [config[name] for name in NAMES]
        self._noise = Noise(config, seed)
        self._asymptote = hartmann(x) - MINIMUM
        self._exponent = SLOWEST + (FASTEST - SLOWEST) * x[0]
        self._luck = 1.0 + SEED_SD * self._noise.normal(SEED)
        # What a larger model costs: from 4 to 16 device-seconds an epoch.
        self.cost = EpochCost(train=4.0 ** (1.0 + x[5]), evaluate=0.5, checkpoint=0.1, start=1.0)

    def train_metrics(self, epoch: int) -> Mapping[str, float]:
        return {"train_loss": self._expected(epoch)}

    def validation_score(self, epoch: int) -> float:
        return self._evaluated(epoch, VALIDATION)

    def scores(self, epoch: int) -> Mapping[str, float]:
        return {
            "validation_loss": self.validation_score(epoch),
            "test_loss": self._evaluated(epoch, TEST),
        }

    def _evaluated(self, epoch: int, on: int) -> float:
        noise = self._noise.normal(on, epoch)
        return self._expected(epoch) * (1.0 + EVALUATION_SD * noise)

    def _expected(self, epoch: int) -> float:
        left = (UNTRAINED_LOSS - self._asymptote) * (1 + epoch) ** -self._exponent
        return self._luck * (self._asymptote + left)


@dataclass(frozen=True)
class HartmannPowerLaw(CurveBenchmark):
    """The best asymptote is 0, at :data:`OPTIMUM`."""

    name = "hartmann_power_law"
    summary = "Power-law learning curves to Hartmann's function of 6 parameters; less is better"
    metric = "validation_loss"
    mode = "min"
    test_metric = "test_loss"
    loss_metric = "validation_loss"
    targets = (3.3, 3.05, 2.5, 1.7)

    max_epochs: Annotated[int, Field(ge=1)] = 27

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {name: tune.uniform(0.0, 1.0) for name in NAMES}

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return 12 / math.log(4.0) + 0.6  # the mean of 4^(1 + x) over [0, 1], and the rest

    def curve(self, config: Config, seed: int) -> LearningCurve:
        return PowerLawCurve(config, seed)
