"""Estimates from the seeds of one strategy, and intervals that say how sure they are.

A statement about a strategy is one about seeds that were not run: the interval of level 95 % is
meant to contain the value over all seeds in 95 of 100 studies. How often it does with few seeds,
and with scores that are not normal, is measured by ``benchmarks/perf/interval_coverage.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from reports.statistics.checked import Values, check_share, vector

CONFIDENCE = 0.95

TRIMMED = 0.25
"""What the interquartile mean cuts off at each end."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its limits, ``low`` ≤ ``estimate`` ≤ ``high``, all in the estimate's unit.

    Limits are NaN where there are too few values to tell; the estimate is NaN where there is none.
    """

    estimate: float
    low: float
    high: float


def t_half_width(values: Values, confidence: float = CONFIDENCE) -> Values:
    """Half the width of Student's interval of the mean over axis 0.

    Args:
        values: shape (seeds, ...).
        confidence: level, in (0, 1).

    Returns:
        Shape (...), ≥ 0, 0 (up to rounding) where all values are equal; NaN with fewer than two
        seeds and where a value is NaN or ±inf.

    Raises:
        ValueError: ``confidence`` is out of range.

    Source: Student, The probable error of a mean, Biometrika 6 (1908).
    """
    check_share("confidence", confidence)
    seeds = values.shape[0]
    if seeds < 2:
        return np.full(values.shape[1:], np.nan)
    quantile = stats.t.ppf((1 + confidence) / 2, seeds - 1)
    with np.errstate(invalid="ignore"):
        half: Values = quantile * values.std(axis=0, ddof=1) / np.sqrt(seeds)
    return half


def t_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The mean of values, shape (n,), and Student's interval of it; see :func:`t_half_width`.

    Limits are NaN with fewer than two values. NaN and ±inf are not left out: the mean is then
    what the arithmetic says (NaN or ±inf), its limits NaN. Without any value all three are NaN.

    Raises:
        ValueError: ``values`` has another shape, ``confidence`` is not in (0, 1).
    """
    given = vector("values", values)
    half = float(t_half_width(given, confidence))
    if not len(given):
        return Interval(math.nan, half, half)
    with np.errstate(invalid="ignore"):
        mean = float(given.mean())
    return Interval(mean, mean - half, mean + half)


def interquartile_mean(values: ArrayLike) -> float:
    """The mean of the middle half of values, shape (n,): a quarter of them is cut at each end.

    A quarter is rounded down, so that below four values this is the mean. A value of ±inf is cut
    like any other; NaN has no place in the order, and makes the result NaN, as does no value.

    Raises:
        ValueError: ``values`` has another shape.

    Source: Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice,
    NeurIPS 2021 (arXiv 2108.13264), section 4.3.
    """
    given = vector("values", values)
    if not len(given) or np.isnan(given).any():
        return math.nan
    with np.errstate(invalid="ignore"):
        return float(stats.trim_mean(given, TRIMMED))


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[[Values], float],
    rng: np.random.Generator,
    resamples: int = 2000,
    confidence: float = CONFIDENCE,
) -> Interval:
    """A statistic of values, shape (n,), and the percentile bootstrap's interval of it.

    It covers too little with few seeds: of nominal 95 % about 75 % at three seeds and 84 % at
    five, even when scores are normal, as the resamples of few values spread too little (measured:
    ``benchmarks/perf/interval_coverage.py``). So it is for statistics that have no interval of
    their own, with ten seeds or more; for a mean take :func:`t_interval`.

    Args:
        statistic: of a vector; is called for each resample.
        resamples: how many, ≥ 1.
        confidence: level, in (0, 1).

    Returns:
        Limits that are NaN with fewer than two values and where one is NaN or ±inf; all NaN
        without any value.

    Raises:
        ValueError: ``values`` has another shape, ``confidence`` is not in (0, 1), or
            ``resamples`` is below 1.

    Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    given = vector("values", values)
    check_share("confidence", confidence)
    if resamples < 1:
        raise ValueError(f"resamples is {resamples}; allowed is 1 or more")
    if not len(given):
        return Interval(math.nan, math.nan, math.nan)
    estimate = float(statistic(given))
    if len(given) < 2 or not np.isfinite(given).all():
        return Interval(estimate, math.nan, math.nan)
    limits = stats.bootstrap(
        (given,),
        statistic,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        vectorized=False,
        rng=rng,
    ).confidence_interval
    return Interval(estimate, float(limits.low), float(limits.high))


def wilson_interval(successes: float, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """The share of successes, and Wilson's score interval of it, within [0, 1].

    Args:
        successes: from 0 to ``trials``; half a success counts half (a tie).
        trials: how many, ≥ 0; with none all is NaN.
        confidence: level, in (0, 1).

    Raises:
        ValueError: an argument is out of range.

    Source: Wilson, Probable inference, the law of succession, and statistical inference, JASA 22
    (1927). ``scipy.stats`` has it for whole successes only.
    """
    check_share("confidence", confidence)
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes:g} of {trials} is given; allowed is from 0 to all")
    if not trials:
        return Interval(math.nan, math.nan, math.nan)
    found = successes / trials
    quantile = float(stats.norm.ppf((1 + confidence) / 2))
    pull = quantile**2 / trials
    centre = (found + pull / 2) / (1 + pull)
    half = math.sqrt(pull * (found * (1 - found) + pull / 4)) / (1 + pull)
    # At a share of 0 or 1 a limit is that share itself; rounding must not move it out.
    return Interval(found, min(max(centre - half, 0.0), found), max(min(centre + half, 1.0), found))
