"""Ranks: comparisons that ask only which score is better, not by how much."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from harness.contract import Mode
from reports.statistics.checked import Values, pair_of_vectors
from reports.statistics.losses import losses

MIN_PAIRS_TO_CORRELATE = 3
"""Two pairs are always in perfect order, or in the opposite one."""


def mean_ranks(scores: ArrayLike, mode: Mode) -> Values:
    """Each strategy's rank among the others, averaged over seeds; 1 is best.

    Equal scores share the mean of their places. NaN and ±inf are last, and equal.

    Args:
        scores: shape (seeds, strategies).

    Returns:
        Shape (strategies,), in [1, strategies], of sum k (k + 1) ÷ 2 with k strategies; NaN
        without any seed.

    Raises:
        ValueError: another shape.

    Source: Friedman, The use of ranks to avoid the assumption of normality implicit in the
    analysis of variance, JASA 32 (1937); for comparing algorithms Demšar, JMLR 7 (2006).
    """
    given = losses(scores, mode)
    if given.ndim != 2:
        raise ValueError(f"scores has shape {given.shape}; allowed is (seeds, strategies)")
    if not given.size:
        return np.full(given.shape[1], np.nan)
    means: Values = stats.rankdata(given, axis=1).mean(axis=0)
    return means


def rank_correlation(x: ArrayLike, y: ArrayLike, mode: Mode) -> float:
    """Spearman's rho of two scores of the same things: do both put them in the same order?

    Equal scores share the mean of their ranks, and rho is Pearson's correlation of the ranks, which
    is the definition that stays right with ties. NaN and ±inf are not left out: they are worst,
    and equal, in ``x`` and in ``y``.

    Args:
        x, y: shape (n,), scores of the same mode; NaN with fewer than three pairs.

    Returns:
        In [-1, 1]; NaN too where all of one side are equal.

    Raises:
        ValueError: another shape, or not as many values in ``x`` as in ``y``.

    Source: Spearman, The proof and measurement of association between two things, American
    Journal of Psychology 15 (1904); with ties: Kendall, Rank Correlation Methods (1970), chapter 3.
    """
    first, second = (losses(scores, mode) for scores in pair_of_vectors(("x", "y"), x, y))
    if len(first) < MIN_PAIRS_TO_CORRELATE or any((v == v[0]).all() for v in (first, second)):
        return math.nan
    return float(stats.spearmanr(first, second).statistic)
