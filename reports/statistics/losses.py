"""Scores of either mode on one scale: the smaller the better, and what is no number is worst."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from harness.contract import Mode
from reports.statistics.checked import Values


def losses(scores: ArrayLike, mode: Mode) -> Values:
    """Same shape as ``scores``; NaN and ±inf become +inf, worse than every finite score.

    The harness never takes such a score for an incumbent, in neither mode: +inf is no best
    accuracy, it is a trial that diverged.
    """
    given = np.asarray(scores, dtype=np.float64)
    return np.where(np.isfinite(given), -given if mode == "max" else given, np.inf)
