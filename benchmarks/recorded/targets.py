"""Scores worth reaching, from what was recorded: known before any study of the table runs."""

from __future__ import annotations

import math
from statistics import fmean

from benchmarks.recorded.table import Curve, RecordedTable

REACHED_BY = (0.5, 0.2, 0.05)
"""Shares of the configurations; the last target is what the best one reaches."""


def recorded_targets(table: RecordedTable, max_epochs: int) -> tuple[float, ...]:
    """What the best 50, 20 and 5 % of the configurations, and the best one, reach within a cap.

    A configuration counts once, with the mean over its recorded seeds of their best scores; where
    it diverged before any score, it reached nothing.
    """
    benchmark = table.record.benchmark
    sign = 1.0 if benchmark.mode == "max" else -1.0

    def reached(curve: Curve) -> float:
        scores = [sign * epoch.validation_score for epoch in curve.epochs[:max_epochs]]
        return max(filter(math.isfinite, scores), default=-math.inf)

    ranked = sorted(
        (fmean(map(reached, curves)) for curves in table.by_config().values()), reverse=True
    )
    ranks = [math.ceil(share * len(ranked)) for share in REACHED_BY] + [1]
    targets = [sign * ranked[rank - 1] for rank in ranks if math.isfinite(ranked[rank - 1])]
    return tuple(dict.fromkeys(targets))
