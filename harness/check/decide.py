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
from typing import Literal

import numpy as np
from scipy import stats

from harness.check.measures import DEFAULT_ALPHA, Margin, Measure
from harness.contract import Mode
from harness.contract.records import Record
from reports.statistics import MIN_PAIRS_TO_CLAIM, holm, paired_difference

Mark = Literal["+", "-", "~", "?", "!", "x"]

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


class Row(Record):
    """A decision. ``difference`` (with ``low``, ``high``: its 95 % t-interval) is above 0 where the
    new is better; ``margin`` is absolute; ``p_worse`` is corrected; ``reason``: why the mark."""

    strategy: str
    measure: str
    mark: Mark
    pairs: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    margin: float
    p_worse: float
    p_better: float
    is_identical: bool
    reason: str


def decide(rows: Sequence[Pairs], alpha: float = DEFAULT_ALPHA) -> list[Row]:
    """Decide every row of a check.

    Args:
        alpha: the family-wise error: the chance of any ``-`` where nothing got worse.
    """
    differences = [_signed(row) for row in rows]
    found = [paired_difference(d, np.zeros(len(d))) for d in differences]
    is_tested = [_is_tested(row) for row in rows]
    worse = [
        _one_sided(f.p_value, f.estimate < 0) if tested else math.nan
        for f, tested in zip(found, is_tested, strict=True)
    ]
    better = [
        _one_sided(f.p_value, f.estimate > 0) if tested else math.nan
        for f, tested in zip(found, is_tested, strict=True)
    ]
    p_worse, p_better = holm(np.array(worse)), holm(np.array(better))
    decided = []
    for i, row in enumerate(rows):
        before = float(np.mean(row.before)) if row.before else math.nan
        margin = row.margin.absolute(before)
        is_identical = len(row.seeds) > 0 and row.before == row.after
        mark, reason = _mark(
            row, differences[i], found[i].estimate, margin, float(p_worse[i]), float(p_better[i]),
            alpha, is_identical,
        )  # fmt: skip
        decided.append(
            Row(
                strategy=row.strategy,
                measure=row.measure.name,
                mark=mark,
                pairs=len(row.seeds),
                before=before,
                after=float(np.mean(row.after)) if row.after else math.nan,
                difference=found[i].estimate,
                low=found[i].low,
                high=found[i].high,
                margin=margin,
                p_worse=float(p_worse[i]),
                p_better=float(p_better[i]),
                is_identical=is_identical,
                reason=reason,
            )
        )
    return decided


def _signed(row: Pairs) -> np.ndarray:
    before, after = np.array(row.before, dtype=float), np.array(row.after, dtype=float)
    return row.measure.sign(row.mode) * (after - before)


def _is_tested(row: Pairs) -> bool:
    return row.problem is None and len(row.seeds) >= MIN_PAIRS_TO_CLAIM


def _one_sided(two_sided: float, is_that_side: bool) -> float:
    return two_sided / 2 if is_that_side else 1 - two_sided / 2


def _mark(
    row: Pairs,
    differences: np.ndarray,
    estimate: float,
    margin: float,
    p_worse: float,
    p_better: float,
    alpha: float,
    is_identical: bool,
) -> tuple[Mark, str]:
    if row.problem is not None:
        return "x", row.problem
    if row.failed is not None:
        return "!", row.failed
    if is_identical and len(row.seeds) >= MIN_PAIRS_TO_CLAIM:
        return "~", "identical on every seed"
    if len(row.seeds) < MIN_PAIRS_TO_CLAIM:
        return "?", (
            f"{len(row.seeds)} seed(s) in common; at least {MIN_PAIRS_TO_CLAIM} are needed to "
            "claim anything"
        )
    if p_worse < alpha and estimate <= -margin:
        return "-", "worse by the margin or more, and not by chance"
    if p_better < alpha and estimate >= margin:
        return "+", "better by the margin or more, and not by chance"
    if _lower_bound(differences) > -margin:
        return "~", "a loss of the margin or more is excluded"
    return "?", "a loss of the margin or more can neither be shown nor excluded: more seeds tell"


def _lower_bound(differences: np.ndarray) -> float:
    """Of the one-sided interval of the mean."""
    spread = float(differences.std(ddof=1))
    quantile = float(stats.t.ppf(NONINFERIORITY_LEVEL, len(differences) - 1))
    return float(differences.mean()) - quantile * spread / math.sqrt(len(differences))
