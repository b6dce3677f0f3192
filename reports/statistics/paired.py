"""Two strategies on the same seeds: how far apart, how often better, how many seeds would tell.

A seed fixes the data's order, the initial weights and the configurations that are drawn, as far as
both strategies use them; what it does to both of them alike drops out of their difference.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from harness.contract import Mode
from reports.statistics.checked import Values, check_share, pair_of_vectors
from reports.statistics.intervals import Interval, t_interval, wilson_interval
from reports.statistics.losses import losses

MIN_PAIRS_TO_CLAIM = 6
"""With fewer, a test that assumes nothing of the scores' distribution (sign, Wilcoxon, permutation)
cannot go below a two-sided 0.05: five pairs give 2 ÷ 2⁵ = 0.0625 at best, six 0.03125. Whatever a
t-test then says rests on the assumption that scores are normal."""

ROUNDINGS = 64
"""Differences this many roundings of a score apart are equal, and those as close to 0 are 0."""

LARGEST_EFFECT = 1000.0
"""Standard deviations; any larger difference is as certain to be found."""


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference over pairs, with its t-interval and two-sided p-value (in [0, 1]).

    NaN where not known: see :func:`paired_difference`.
    """

    estimate: float
    low: float
    high: float
    p_value: float
    pairs: int


def paired_difference(a: ArrayLike, b: ArrayLike) -> PairedDifference:
    """How much larger ``a`` is than ``b`` on the same seeds: the mean of a − b, and a t-test.

    Where all differences are equal up to rounding there is no spread to test against. Then p is 1
    if they are 0, else that of the two-sided sign test, 2 ÷ 2ⁿ; the interval has no width. One
    pair so has p = 1, and its interval is NaN.

    It is about means: a strategy with rare bad seeds, none of which was run, looks better than it
    is, the more so beside one that hardly depends on the seed (measured: ``docs/statistics.md``).

    NaN and ±inf are not left out: the estimate is what the arithmetic says (NaN or ±inf), interval
    and p are NaN, as all are without any pair.

    Args:
        a, b: shape (n,), the same seeds in the same order.

    Raises:
        ValueError: another shape, or not as many values in ``a`` as in ``b``.

    Source: Student, The probable error of a mean, Biometrika 6 (1908); for the sign test Dixon &
    Mood, The statistical sign test, JASA 41 (1946).
    """
    given = pair_of_vectors(("a", "b"), a, b)
    with np.errstate(invalid="ignore"):
        differences = given[0] - given[1]
    mean = t_interval(differences)
    return PairedDifference(
        mean.estimate, mean.low, mean.high, _p_value(*given, differences), len(differences)
    )


def _p_value(a: Values, b: Values, differences: Values) -> float:
    pairs = len(differences)
    if not pairs or not np.isfinite(differences).all():
        return math.nan
    tolerance = ROUNDINGS * np.finfo(float).eps * max(np.abs(a).max(), np.abs(b).max())
    if np.ptp(differences) <= tolerance:
        return 1.0 if np.abs(differences).max() <= tolerance else 2.0 / 2.0**pairs
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def probability_of_improvement(a: ArrayLike, b: ArrayLike, mode: Mode) -> Interval:
    """The share of seeds on which ``a`` is better than ``b``, ties half, with Wilson's interval.

    A score that is NaN or ±inf is worse than every finite one, and ties with another such. Without
    any pair all is NaN.

    Args:
        a, b: shape (n,), scores on the same seeds in the same order.

    Returns:
        Estimate and limits in [0, 1]; ½ means that neither is better.

    Raises:
        ValueError: another shape, or not as many values in ``a`` as in ``b``.

    Source: Agarwal et al., NeurIPS 2021 (arXiv 2108.13264), section 4.3, who compare every seed of
    one with every seed of the other (Mann & Whitney's U); here the same seeds are compared.
    """
    first, second = (losses(scores, mode) for scores in pair_of_vectors(("a", "b"), a, b))
    better = np.where(first == second, 0.5, first < second)
    return wilson_interval(float(better.sum()), len(better))


def pairs_needed(
    difference: float, sd: float, alpha: float, power: float = 0.8, at_most: int = 10_000
) -> int | None:
    """The smallest number of pairs at which a two-sided paired t-test finds a difference.

    "Finds": with probability ``power`` its p is below ``alpha``, if the true difference and the
    standard deviation of the differences are as given (noncentral t distribution). Both are
    usually estimates from few pairs, and then so is this.

    Args:
        difference: of either sign.
        sd: of the differences, ≥ 0; with 0 the least number of pairs does.
        alpha, power: in (0, 1).

    Returns:
        At least ``MIN_PAIRS_TO_CLAIM``. ``None`` where it is more than ``at_most``, the difference
        is 0, or difference or sd are not finite (not known).

    Raises:
        ValueError: ``sd`` is below 0, or ``alpha`` or ``power`` are out of range.

    Source: Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), chapter 2.
    """
    check_share("alpha", alpha)
    check_share("power", power)
    if sd < 0:
        raise ValueError(f"sd is {sd:g}; allowed is 0 or more")
    if difference == 0 or not (math.isfinite(difference) and math.isfinite(sd)):
        return None
    effect = min(abs(difference) / sd, LARGEST_EFFECT) if sd else LARGEST_EFFECT
    candidates = range(MIN_PAIRS_TO_CLAIM, at_most + 1)
    place = bisect_left(candidates, power, key=lambda pairs: _power(effect, pairs, alpha))
    return candidates[place] if place < len(candidates) else None


def _power(effect: float, pairs: int, alpha: float) -> float:
    # t² is F(1, n − 1) distributed: both tails at once, where SciPy's noncentral t gives NaN for
    # the far one.
    threshold = stats.t.isf(alpha / 2, pairs - 1) ** 2
    return float(stats.ncf.sf(threshold, 1, pairs - 1, effect**2 * pairs))
