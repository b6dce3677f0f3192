"""Configurations as vectors in which likeness is nearness, for any search space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.contract.records import ParameterRecord

Array = NDArray[np.float64]


class Features:
    """Numbers are scaled to [0, 1] over their range, on a log scale where the space says so; a
    choice among positive numbers (``batch_size``) counts as a number on a log scale, any other
    choice has a 0/1 feature per value.

    Sums and differences of logarithms come on top, as quotients and products often are what
    matters: the noise of SGD goes with lr / batch_size, what AdamW decays with lr · weight_decay.
    """

    def __init__(self, space: Mapping[str, ParameterRecord]) -> None:
        self._encoders = [_Encoder(name, parameter) for name, parameter in space.items()]
        pairs = combinations([encoder for encoder in self._encoders if encoder.is_log], 2)
        self._pairs = [(one.name, other.name) for one, other in pairs]
        self._logs = {encoder.name: encoder for encoder in self._encoders if encoder.is_log}

    @property
    def names(self) -> list[str]:
        return [
            *(name for encoder in self._encoders for name in encoder.feature_names),
            *(f"{a} {sign} {b}" for a, b in self._pairs for sign in "·/"),
        ]

    def __call__(self, config: Mapping[str, Any]) -> Array:
        """One configuration as a vector, as long as :attr:`names`."""
        values = [value for encoder in self._encoders for value in encoder(config[encoder.name])]
        logs = {name: encoder.log(config[name]) for name, encoder in self._logs.items()}
        for a, b in self._pairs:
            scale = self._logs[a].width + self._logs[b].width
            values += [(logs[a] + logs[b]) / scale, (logs[a] - logs[b]) / scale]
        return np.array(values)


class _Encoder:
    """One parameter's features."""

    def __init__(self, name: str, parameter: ParameterRecord) -> None:
        self.name, self._choices = name, parameter.choices
        categorical = parameter.type == "categorical"
        low, high = _ends(parameter.choices) if categorical else (parameter.low, parameter.high)
        self._is_number = low is not None and high is not None
        self.is_log = self._is_number and (categorical or parameter.log)
        self.width = 1.0
        if low is not None and high is not None:
            self._low = math.log(low) if self.is_log else low
            self.width = ((math.log(high) if self.is_log else high) - self._low) or 1.0
        self.feature_names = (
            [name] if self._is_number else [f"{name} = {choice!r}" for choice in self._choices]
        )

    def __call__(self, value: Any) -> list[float]:
        if not self._is_number:
            return [float(value == choice) for choice in self._choices]
        return [((math.log(value) if self.is_log else value) - self._low) / self.width]

    def log(self, value: float) -> float:
        return math.log(value)


def _ends(choices: list[Any]) -> tuple[float, float] | tuple[None, None]:
    """The range of choices that are all positive numbers."""
    if all(isinstance(c, int | float) and not isinstance(c, bool) and c > 0 for c in choices):
        return min(choices), max(choices)
    return None, None
