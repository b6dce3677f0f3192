"""Numbers as people read them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.contract import DEVICE_NAMES, DeviceKind

NOTHING = "–"
_SCALES = ((7200.0, 3600.0, "hours"), (600.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


@dataclass(frozen=True)
class ComputeUnit:
    """The unit for device time in one report: ``device_seconds`` of them make one ``name``."""

    device_seconds: float
    name: str

    @classmethod
    def for_budget(cls, kind: DeviceKind, budget_device_seconds: float) -> ComputeUnit:
        """Core-hours on CPUs, GPU-hours on GPUs; seconds or minutes where a budget is small."""
        size, word = next(
            (size, word) for least, size, word in _SCALES if budget_device_seconds >= least
        )
        return cls(size, f"{DEVICE_NAMES[kind]}-{word}")

    def number(self, device_seconds: float) -> str:
        return quantity(device_seconds / self.device_seconds)

    def text(self, device_seconds: float) -> str:
        return f"{self.number(device_seconds)} {self.name}"


def quantity(value: float | None) -> str:
    """Three significant digits or so, no exponent where it can be had: 0.0123, 4.56, 1,234."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-3:
        return f"{value:.3g}"
    decimals = 0 if size >= 100 or size == 0 else 1 if size >= 10 else 2 if size >= 1 else 4
    return f"{value:,.{decimals}f}"


def score(value: float | None) -> str:
    """A metric's value: four decimals, five significant digits where it is large or tiny."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1000 else f"{value:.5g}"


def difference(value: float) -> str:
    """A difference of two scores: four decimals, or two significant digits where these would show
    nothing, five where it is large."""
    if math.isnan(value):
        return NOTHING
    if value < 0:
        return "−" + difference(-value)
    if value >= 1000:
        return score(value)
    return f"{value:.4f}" if value == 0 or value >= 5e-5 else f"{value:.2g}"


def signed(value: float) -> str:
    """A difference with its sign: +0.0021, −0.0004."""
    if math.isnan(value):
        return NOTHING
    return ("+" if value > 0 else "") + difference(value)


def signed_interval(low: float, high: float) -> str:
    """+0.0012 to +0.0030; nothing where the limits are not known."""
    return NOTHING if math.isnan(low) else f"{signed(low)} to {signed(high)}"


def p_value(value: float) -> str:
    if math.isnan(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """``1 trial``, ``1,200 trials``; ``nouns`` where the plural is not an added s."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def percent(share: float | None) -> str:
    """A share in [0, 1] as a percentage; never rounded to 0 % or 100 % where it is neither."""
    if share is None or math.isnan(share):
        return NOTHING
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %"


def seconds(value: float | None) -> str:
    """A stretch of time: 0.42 s, 12 s, 3 min 05 s, 2 h 10 min."""
    if value is None or math.isnan(value):
        return NOTHING
    if value < 60:
        return f"{quantity(value)} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02d} min"


def setting(value: object) -> str:
    """A configuration's value."""
    if isinstance(value, bool) or value is None:
        return str(value).lower() if value is not None else "none"
    if isinstance(value, float):
        return NOTHING if math.isnan(value) else f"{value:.4g}"
    return str(value)
