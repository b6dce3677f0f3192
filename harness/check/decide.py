"""Whether a measure got worse, row by row: pure functions of paired values.

A row is one strategy's measure, paired by seed; its difference is signed so that above 0 is better.

- ``-`` worse: the mean difference is at most −margin, and the one-sided paired t-test against "no
  worse than before" rejects after Holm's correction over all rows: the whole simultaneous interval
  lies on the worse side of 0.
- ``+`` better: the same on the other side.
- ``~`` same: not worse, and a loss of the margin or more is excluded (the lower end of the
  one-sided 95 % interval is above −margin).
- ``?`` inconclusive: neither can be said, or there are fewer than six pairs.
- ``!`` failed: cells of the strategy failed that had not before.
- ``x`` not comparable: one of the two has no such number, or times are of two machines.

See ``docs/regression-check.md`` for the formulas and the measured error rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.check.measures import DEFAULT_ALPHA, Margin, Measure
from harness.contract import Mode
from harness.contract.check import CheckRow, Mark
from reports.statistics import MIN_PAIRS_TO_CLAIM, holm, paired_difference, t_interval

NONINFERIORITY_LEVEL = 0.95


@dataclass(frozen=True)
class Pairs:
    """One row's numbers: ``before`` and ``after`` on the same seeds. ``problem``: why they cannot
    be compared; ``failed``: what failed in the new run that had not before."""

    strategy: str
    measure: Measure
    margin: Margin
    mode: Mode
    seeds: tuple[int, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    problem: str | None = None
    failed: str | None = None


@dataclass(frozen=True)
class _Difference:
    """Signed: above 0 is better. ``bound``: a loss below it is excluded, one-sided;
    ``p_two_sided``: NaN where no test is made."""

    mean: float
    low: float
    high: float
    bound: float
    p_two_sided: float

    def p(self, sign: int) -> float:
        """One-sided: against "not better" (1) or "not worse" (−1)."""
        return self.p_two_sided / 2 if sign * self.mean > 0 else 1 - self.p_two_sided / 2


def decide(rows: Sequence[Pairs], alpha: float = DEFAULT_ALPHA) -> list[CheckRow]:
    """Decide every row of a check.

    Args:
        alpha: the family-wise error: the chance of any ``-`` where nothing got worse.
    """
    found = [_difference(row) for row in rows]
    p_worse = holm([difference.p(-1) for difference in found])
    p_better = holm([difference.p(+1) for difference in found])
    return [
        _decided(row, difference, float(worse), float(better), alpha)
        for row, difference, worse, better in zip(rows, found, p_worse, p_better, strict=True)
    ]


def _difference(row: Pairs) -> _Difference:
    pair = (row.after, row.before) if is_higher_better(row) else (row.before, row.after)
    found = paired_difference(*pair)
    # A two-sided interval leaves out half of its error on either side.
    wide = t_interval(np.subtract(*pair), 2 * NONINFERIORITY_LEVEL - 1)
    # Where nothing changed there is nothing to test, and no chance of a false alarm to correct for.
    is_tested = (
        row.problem is None and len(row.seeds) >= MIN_PAIRS_TO_CLAIM and not _is_identical(row)
    )
    p_value = found.p_value if is_tested else math.nan
    return _Difference(found.estimate, found.low, found.high, wide.low, p_value)


def _decided(
    row: Pairs, found: _Difference, p_worse: float, p_better: float, alpha: float
) -> CheckRow:
    before = float(np.mean(row.before)) if row.before else math.nan
    margin = row.margin.absolute(before)
    mark, reason = _mark(row, found, margin, p_worse < alpha, p_better < alpha)
    return CheckRow(
        strategy=row.strategy,
        measure=row.measure.name,
        title=row.measure.title,
        unit=row.measure.unit,
        is_higher_better=is_higher_better(row),
        mark=mark,
        seeds=list(row.seeds),
        values_before=list(row.before),
        values_after=list(row.after),
        before=before,
        after=float(np.mean(row.after)) if row.after else math.nan,
        difference=found.mean,
        low=found.low,
        high=found.high,
        margin=margin,
        p_worse=p_worse,
        p_better=p_better,
        is_identical=_is_identical(row),
        reason=reason,
    )


def is_higher_better(row: Pairs) -> bool:
    """``None`` stands for the benchmark's direction."""
    if row.measure.is_higher_better is None:
        return row.mode == "max"
    return row.measure.is_higher_better


def _is_identical(row: Pairs) -> bool:
    return len(row.seeds) > 0 and row.before == row.after


def _mark(
    row: Pairs, found: _Difference, margin: float, is_surely_worse: bool, is_surely_better: bool
) -> tuple[Mark, str]:
    if row.problem is not None:
        return "x", row.problem
    if row.failed is not None:
        return "!", row.failed
    if len(row.seeds) < MIN_PAIRS_TO_CLAIM:
        return "?", (
            f"{len(row.seeds)} seed(s) in common; at least {MIN_PAIRS_TO_CLAIM} are needed to "
            "claim anything"
        )
    if _is_identical(row):
        return "~", "identical on every seed"
    if margin == 0:
        return "x", (
            "the baseline's mean is 0, of which no percentage is a margin: give one in the "
            f"measure's own unit, --fail-on {row.measure.name}:SIZE"
        )
    if is_surely_worse and found.mean <= -margin:
        return "-", "worse by the margin or more, and not by chance"
    if is_surely_better and found.mean >= margin:
        return "+", "better by the margin or more, and not by chance"
    if found.bound > -margin:
        return "~", "a loss of the margin or more is excluded"
    return "?", "a loss of the margin or more can neither be shown nor excluded: more seeds tell"
