"""How long until a score is reached, where some seeds never reach it.

A time is ≥ 0 in any one unit, and inf where the target was not reached before the end. All
seeds end at the same horizon, the budget, so nothing is known less of one than of another.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from harness.contract import Mode
from reports.statistics.checked import Values, vector
from reports.statistics.intervals import Interval, t_interval
from reports.statistics.losses import losses
from reports.statistics.steps import checked_steps


def first_reached(step_x: ArrayLike, step_y: ArrayLike, target: float, mode: Mode) -> float:
    """The first place where a step function is at the target or better; inf if there is none.

    Args:
        step_x, step_y: shape (n,), places (ascending) and scores from there on. Scores that are
            NaN or ±inf reach nothing.
        target: a finite score.

    Raises:
        ValueError: other shapes, places that do not ascend, a target that is not finite.

    Source: time-to-target, as Aiex, Resende & Ribeiro, TTT plots, Optimization Letters 1 (2007).
    """
    x, y = checked_steps(step_x, step_y)
    if not math.isfinite(target):
        raise ValueError(f"target is {target}; allowed is a finite score")
    reached = losses(y, mode) <= losses(target, mode)
    return float(x[reached.argmax()]) if reached.any() else math.inf


def reached_fraction(times: ArrayLike, at: ArrayLike) -> Values:
    """The share of seeds that had reached the target by each of some times.

    Args:
        times: shape (n,), one per seed; inf is never.
        at: times of any shape; at inf it is the share that ever reached it.

    Returns:
        Shape of ``at``, in [0, 1]; NaN without any seed.

    Raises:
        ValueError: ``times`` has another shape, one is NaN or below 0, or ``at`` has NaN.

    Source: the empirical distribution function; with all seeds censored at one time, and looked at
    before it, 1 − Kaplan & Meier's estimate (JASA 53, 1958) is the same.
    """
    known = _checked_times(times)
    places = np.asarray(at, dtype=np.float64)
    if np.isnan(places).any():
        raise ValueError(f"at is {places}; allowed are numbers")
    if not len(known):
        return np.full(places.shape, np.nan)
    reached = np.sort(known[np.isfinite(known)])
    return np.searchsorted(reached, places, side="right") / len(known)


def restricted_mean_time(times: ArrayLike, horizon: float) -> Interval:
    """The mean time to the target within a horizon: a seed that never gets there counts all of it.

    In general this is the area under a survival curve; here, all seeds being censored at the same
    horizon, that is the mean of min(time, horizon). The interval is Student's, clipped to
    [0, horizon]; where all seeds are equal, e.g. none gets there, it has no width.

    Args:
        times: shape (n,), one per seed; inf is never.
        horizon: above 0 and finite, in the same unit.

    Returns:
        In [0, horizon]; limits NaN with one seed, all NaN without any.

    Raises:
        ValueError: ``times`` has another shape, one is NaN or below 0, or the horizon is not
            finite and above 0.

    Source: Royston & Parmar, Restricted mean survival time, BMC Medical Research Methodology 13
    (2013).
    """
    if not 0 < horizon < math.inf:
        raise ValueError(f"horizon is {horizon:g}; allowed is a finite time above 0")
    found = t_interval(np.minimum(_checked_times(times), horizon))
    return Interval(
        *(float(np.clip(v, 0.0, horizon)) for v in (found.estimate, found.low, found.high))
    )


def _checked_times(times: ArrayLike) -> Values:
    known = vector("times", times)
    if not (known >= 0).all():
        raise ValueError(f"times are {known}; allowed are 0 or more, inf where never")
    return known
