"""Statistics on arrays: pure functions; no frames, files, clock or global random state."""

from reports.statistics.intervals import (
    CONFIDENCE,
    Interval,
    bootstrap_interval,
    interquartile_mean,
    t_half_width,
    t_interval,
    wilson_interval,
)
from reports.statistics.steps import step_values

__all__ = [
    "CONFIDENCE",
    "Interval",
    "bootstrap_interval",
    "interquartile_mean",
    "step_values",
    "t_half_width",
    "t_interval",
    "wilson_interval",
]
