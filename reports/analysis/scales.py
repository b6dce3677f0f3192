"""Where a parameter's values lie between its bounds, from 0 to 1, whatever its type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.contract.records import ConfigValue, ParameterRecord
from reports import units

Places = NDArray[np.float64]
Tick = tuple[float, str]

MOST_TICKS = 6
LEAST_BETWEEN_TICKS = 0.12
MOST_SHARED_PLACES = 12


@dataclass(frozen=True)
class Scale:
    """An axis from 0 to 1. ``step``: between two places that many values share (0: none do)."""

    name: str
    ticks: tuple[Tick, ...]
    step: float = 0.0


def parameter_scale(
    name: str, parameter: ParameterRecord, values: Sequence[object]
) -> tuple[Scale, Places]:
    """A parameter's scale, and each value's place on it.

    The bounds lie at 0 and 1, unless values are outside of them (PBT may leave them): then the
    scale reaches out to these, at most by its own width on either side; what lies even further out
    is put at its end. A value that is absent (missing, NaN, or ``None`` where that is no choice)
    has the place NaN; where the bounds are one value, that is at 0.5.
    """
    if parameter.type == "categorical":
        return _categorical(name, parameter.choices, values)
    return _numeric(name, parameter, np.array([_number(value) for value in values], dtype=float))


def observed(parameter: ParameterRecord, values: Sequence[object]) -> ParameterRecord:
    """The parameter with bounds, or choices, that are no wider than these values."""
    if parameter.type == "categorical":
        keys = {_key(value) for value in values}
        choices = [choice for choice in parameter.choices if _key(choice) in keys]
        return parameter.model_copy(update={"choices": choices})
    numbers = [number for value in values if math.isfinite(number := _number(value))]
    if not numbers:
        return parameter
    return parameter.model_copy(update={"low": min(numbers), "high": max(numbers)})


def _categorical(
    name: str, choices: Sequence[ConfigValue], values: Sequence[object]
) -> tuple[Scale, Places]:
    known: dict[object, object] = {_key(choice): choice for choice in choices}
    for value in values:
        if value is not None and value == value:
            known.setdefault(_key(value), value)
    last = max(len(known) - 1, 1)
    place = {key: i / last if len(known) > 1 else 0.5 for i, key in enumerate(known)}
    every = -(-len(known) // (2 * MOST_TICKS))
    ticks = [(place[key], units.setting(value)) for key, value in known.items()][::every]
    places = np.array([place.get(_key(value), math.nan) for value in values], dtype=float)
    step = 1 / last if len(known) <= MOST_SHARED_PLACES else 0.0
    return Scale(name, tuple(ticks), step), places


def _key(value: object) -> object:
    """What tells choices apart: ``True`` is not 1, but 1.0 is; NaN is nothing's key."""
    return isinstance(value, bool), value


def _number(value: object) -> float:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return float(value) if is_number else math.nan  # type: ignore[arg-type]


def _numeric(name: str, parameter: ParameterRecord, values: Places) -> tuple[Scale, Places]:
    finite = values[np.isfinite(values)]
    known = [bound for bound in (parameter.low, parameter.high) if bound is not None]
    bounds = known if len(known) == 2 else [*known, *finite]
    if not bounds:
        return Scale(name, ()), np.full_like(values, math.nan)
    low, high = min(bounds), max(bounds)
    is_log = parameter.log and low > 0

    def scaled(x: Places) -> Places:
        # Zero has no logarithm, but a place: the lowest.
        return np.log(np.maximum(x, np.finfo(float).tiny)) if is_log else x

    start, end = scaled(np.array([low, high]))
    width = end - start
    if len(finite):
        least, most = scaled(np.array([finite.min(), finite.max()]))
        start = min(start, max(least, start - width) if width else least)
        end = max(end, min(most, end + width) if width else most)
    if not end > start:
        places = np.where(np.isnan(values), math.nan, 0.5)
        return Scale(name, ((0.5, _label(low, parameter)),)), places

    def place(x: Places) -> Places:
        return np.clip((scaled(x) - start) / (end - start), 0, 1)

    outer = np.exp([start, end]) if is_log else np.array([start, end])
    candidates = [low, high, *outer, *_between(low, high, is_log, parameter.type == "integer")]
    at = place(np.array(candidates))
    ticks: dict[float, str] = {}
    for where, value in zip(at, candidates, strict=True):
        if all(abs(where - other) >= LEAST_BETWEEN_TICKS for other in ticks):
            ticks[float(where)] = _label(value, parameter)
    count = high - low + 1
    is_shared = parameter.type == "integer" and not is_log and count <= MOST_SHARED_PLACES
    step = float(1 / (end - start)) if is_shared else 0.0
    return Scale(name, tuple(sorted(ticks.items())), step), place(values)


def _between(low: float, high: float, is_log: bool, is_integer: bool) -> list[float]:
    """Round numbers between the bounds."""
    if not is_log:
        middle = low + (high - low) / 2
        return [middle] if not is_integer or middle == int(middle) else []
    first, last = math.floor(math.log10(low)) + 1, math.ceil(math.log10(high)) - 1
    every = max(1, -(-(last - first + 1) // (MOST_TICKS - 2)))
    return [10.0**power for power in range(first, last + 1, every)]


def _label(value: float, parameter: ParameterRecord) -> str:
    return f"{round(value):,}" if parameter.type == "integer" else units.setting(float(value))
