"""Statistics on arrays: pure functions; no frames, files, clock or global random state."""

from reports.statistics.area import area_under_steps
from reports.statistics.intervals import (
    CONFIDENCE,
    Interval,
    bootstrap_interval,
    interquartile_mean,
    t_half_width,
    t_interval,
    wilson_interval,
)
from reports.statistics.multiplicity import holm
from reports.statistics.paired import (
    MIN_PAIRS_TO_CLAIM,
    PairedDifference,
    paired_difference,
    pairs_needed,
    probability_of_improvement,
)
from reports.statistics.ranks import mean_ranks, rank_correlation
from reports.statistics.steps import step_values
from reports.statistics.time_to_target import (
    first_reached,
    reached_fraction,
    restricted_mean_time,
)

__all__ = [
    "CONFIDENCE",
    "MIN_PAIRS_TO_CLAIM",
    "Interval",
    "PairedDifference",
    "area_under_steps",
    "bootstrap_interval",
    "first_reached",
    "holm",
    "interquartile_mean",
    "mean_ranks",
    "paired_difference",
    "pairs_needed",
    "probability_of_improvement",
    "rank_correlation",
    "reached_fraction",
    "restricted_mean_time",
    "step_values",
    "t_half_width",
    "t_interval",
    "wilson_interval",
]
