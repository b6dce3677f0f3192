"""Configurations as vectors in which likeness is nearness, for any search space."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.contract.records import ParameterRecord

Array = NDArray[np.float64]


class Features:
    """Numbers are scaled to [0, 1] over their range, on a log scale where the space says so; a
    choice among positive numbers (``batch_size``) counts as a number on a log scale, any other
    choice has a 0/1 feature per value.

    Products and quotients, such as lr / batch_size, are sums here, which a smooth model finds by
    itself: giving them as features made the predictions of FashionMNIST's table no better.
    """

    def __init__(self, space: Mapping[str, ParameterRecord]) -> None:
        self._encoders = [_Encoder(name, parameter) for name, parameter in space.items()]

    @property
    def names(self) -> list[str]:
        return [name for encoder in self._encoders for name in encoder.feature_names]

    def __call__(self, config: Mapping[str, Any]) -> Array:
        """One configuration as a vector, as long as :attr:`names`."""
        values: list[float] = []
        for encoder in self._encoders:
            values += encoder(config[encoder.name])
        return np.array(values)


class _Encoder:
    """One parameter's features."""

    def __init__(self, name: str, parameter: ParameterRecord) -> None:
        self.name, self._choices = name, parameter.choices
        is_choice = parameter.type == "categorical"
        low, high = _ends(parameter.choices) if is_choice else (parameter.low, parameter.high)
        self._is_number = low is not None and high is not None
        self._is_log = self._is_number and (is_choice or parameter.log)
        if low is not None and high is not None:
            self._low = math.log(low) if self._is_log else low
            # A choice of one has no width.
            self._width = ((math.log(high) if self._is_log else high) - self._low) or 1.0
        self.feature_names = (
            [name] if self._is_number else [f"{name} = {choice!r}" for choice in self._choices]
        )

    def __call__(self, value: Any) -> list[float]:
        if not self._is_number:
            return [float(value == choice) for choice in self._choices]
        return [((math.log(value) if self._is_log else value) - self._low) / self._width]


def _ends(choices: Sequence[Any]) -> tuple[float, float] | tuple[None, None]:
    """The range of choices that are all positive numbers."""
    if all(isinstance(c, int | float) and not isinstance(c, bool) and c > 0 for c in choices):
        return min(choices), max(choices)
    return None, None
