"""What a check compares, per cell, and by how much it may change."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.contract import Mode, UsageError

Unit = Literal["pt", "%", ""]

Inconclusive = Literal["pass", "fail"]

DEFAULT_ALPHA = 0.01
"""The chance of any false alarm in a whole check, at most."""


@dataclass(frozen=True)
class Margin:
    """A change that matters: ``size`` > 0 in ``unit`` (``pt``: hundredths, ``%``: of the baseline's
    mean, nothing: the measure's own unit)."""

    size: float
    unit: Unit

    def __str__(self) -> str:
        return f"{self.size:g}{self.unit}"

    def absolute(self, baseline_mean: float) -> float:
        """In the measure's own unit; 0 where it is a percentage of 0."""
        if self.unit == "pt":
            return self.size / 100
        return self.size / 100 * abs(baseline_mean) if self.unit == "%" else self.size


@dataclass(frozen=True)
class Measure:
    """A number per cell. ``is_higher_better``: ``None`` where the benchmark's mode says it.
    ``is_time``: it depends on how fast the machine is."""

    name: str
    title: str
    unit: str
    is_higher_better: bool | None
    is_time: bool
    default: Margin


MEASURES: tuple[Measure, ...] = (
    Measure("best_score", "score of the incumbent", "", None, False, Margin(0.3, "pt")),
    Measure(
        "device_hours_to_target", "device-seconds to target", "device-s", False, True,
        Margin(40, "%"),
    ),
    Measure("epoch_seconds", "seconds per epoch", "s", False, True, Margin(20, "%")),
    Measure("epoch_savings", "epoch savings", "share", True, False, Margin(6, "pt")),
    Measure("useful_share", "useful share", "share", True, True, Margin(5, "pt")),
    Measure("searcher_seconds", "searcher's seconds", "s", False, True, Margin(30, "%")),
)  # fmt: skip

LOSS_MARGIN = Margin(5, "%")
"""Of ``best_score`` where less is better: losses have no common scale, scores of accuracy do."""

FORM = "NAME:SIZE, SIZE with pt (percentage points), % (of the baseline's mean) or nothing"
_MARGIN = re.compile(r"(?P<name>[a-z_]+):(?P<size>[0-9.]+(?:e-?[0-9]+)?)(?P<unit>pt|%|)")


def default_margins(mode: Mode) -> dict[str, Margin]:
    """By measure; chosen by the calibration in ``docs/regression-check.md``."""
    margins = {measure.name: measure.default for measure in MEASURES}
    return margins if mode == "max" else margins | {"best_score": LOSS_MARGIN}


def parse_margins(given: Sequence[str]) -> dict[str, Margin]:
    """Margins by measure, from ``NAME:SIZE[pt|%]``; only those named.

    Raises:
        UsageError: not of this form, an unknown measure, one given twice, or a size that is not
            above 0.
    """
    known = [measure.name for measure in MEASURES]
    margins: dict[str, Margin] = {}
    for text in given:
        found = _MARGIN.fullmatch(text.strip())
        if found is None:
            raise UsageError(f"--fail-on {text!r} must be {FORM}, e.g. best_score:0.1pt")
        name = found["name"]
        if name not in known:
            raise UsageError(f"--fail-on {text!r}: known are {', '.join(known)}; it must be {FORM}")
        if name in margins:
            raise UsageError(f"--fail-on gives {name} twice: give it once")
        try:
            size = float(found["size"])
        except ValueError:
            size = math.nan
        if not (size > 0 and math.isfinite(size)):
            raise UsageError(f"--fail-on {text!r}: the size must be a number above 0")
        margins[name] = Margin(size, found["unit"])  # type: ignore[arg-type]
    return margins


def as_text(margins: Mapping[str, Margin]) -> list[str]:
    """As :func:`parse_margins` reads them."""
    return [f"{name}:{margin}" for name, margin in margins.items()]
