"""The learning curves on which the speed of simulators is compared; needs nothing but Python.

:mod:`benchmarks.perf.virtual_speed` and :mod:`benchmarks.perf.syne_tune_speed` share it, the latter
in an environment that has none of this project's dependencies.
"""

from __future__ import annotations

import math
from typing import Final

MAX_EPOCHS = 27
SLOTS = 8
SEED = 0
GRACE_EPOCHS, REDUCTION_FACTOR = 1, 3

METRIC: Final = "score"
MODE: Final = "max"
LR_RANGE, DROPOUT_RANGE, MOMENTUM_RANGE = (1e-4, 1e-1), (0.0, 0.8), (0.0, 0.99)
MEAN_EPOCH_SECONDS = 10.4


def score(lr: float, dropout: float, momentum: float, epoch: int) -> float:
    """Rises from 0 towards at most 1; a large ``lr`` rises sooner and ends lower."""
    distance = math.log10(lr) + 2.5
    final = 1.0 - 0.1 * distance * distance - 0.3 * (dropout - 0.3) ** 2 - 0.1 * (1.0 - momentum)
    return final * (1.0 - 0.5 ** (epoch / (2.0 - 0.5 * distance)))


def epoch_seconds(dropout: float) -> float:
    """The same for every epoch of a configuration."""
    return 10.0 + dropout
