"""Strategies against each other, paired by seed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from harness.contract import Mode
from harness.contract.records import StrategyRecord
from reports.analysis.frames import records
from reports.statistics import (
    MIN_PAIRS_TO_CLAIM,
    holm,
    paired_difference,
    probability_of_improvement,
)

SIGNIFICANCE = 0.05

COMPARISON_COLUMNS = [
    "strategy", "other", "pairs", "difference", "low", "high", "p_value", "p_holm", "improvement",
    "improvement_low", "improvement_high", "is_told_apart",
]  # fmt: skip


def score_table(finals: pd.DataFrame, by_test: bool) -> pd.DataFrame:
    """The scores that strategies are compared by: a row per seed, a column per strategy, NaN where
    a cell has none.

    Args:
        finals: one row per cell, as from :func:`reports.analysis.incumbents.final_incumbents`.
    """
    column = "test_score" if by_test else "validation_score"
    return finals.pivot_table(
        index="seed", columns="strategy", values=column, sort=False, dropna=False
    ).astype(float)


def compare_all(scores: pd.DataFrame, strategies: Sequence[str], mode: Mode) -> pd.DataFrame:
    """Every pair of strategies, on the seeds that both have a score for.

    ``difference`` > 0 says that ``strategy`` is better than ``other`` (mean over ``pairs`` seeds,
    with its 95 % t-interval); ``p_holm`` is corrected over all pairs of the study (Holm 1979);
    ``improvement`` is the probability that ``strategy`` does better on a seed. ``is_told_apart``:
    the corrected p-value is below 0.05, from at least six pairs.

    Args:
        scores: as from :func:`score_table`.
    """
    sign = 1.0 if mode == "max" else -1.0
    rows = []
    for strategy, other in combinations(strategies, 2):
        a, b = _common(scores, strategy, other)
        found = paired_difference(sign * a, sign * b)
        chance = probability_of_improvement(a, b, mode)
        rows.append(
            {
                "strategy": strategy,
                "other": other,
                "pairs": len(a),
                "difference": found.estimate,
                "low": found.low,
                "high": found.high,
                "p_value": found.p_value if len(a) > 1 else np.nan,
                "improvement": chance.estimate,
                "improvement_low": chance.low,
                "improvement_high": chance.high,
            }
        )
    frame = pd.DataFrame(rows, columns=[c for c in COMPARISON_COLUMNS if c not in _LATER])
    frame["p_holm"] = holm(frame["p_value"].to_numpy(dtype=float))
    frame["is_told_apart"] = (frame["p_holm"] < SIGNIFICANCE) & (
        frame["pairs"] >= MIN_PAIRS_TO_CLAIM
    )
    return frame[COMPARISON_COLUMNS]


_LATER = ("p_holm", "is_told_apart")


def _common(scores: pd.DataFrame, strategy: str, other: str) -> tuple[np.ndarray, np.ndarray]:
    if strategy not in scores or other not in scores:
        return np.empty(0), np.empty(0)
    both = scores[[strategy, other]].dropna()
    return both[strategy].to_numpy(), both[other].to_numpy()


def turned(comparisons: pd.DataFrame, strategy: str, other: str) -> dict[str, Any]:
    """The row of :func:`compare_all` for this pair, seen from ``strategy``."""
    is_as_asked = (comparisons["strategy"] == strategy) & (comparisons["other"] == other)
    is_turned = (comparisons["strategy"] == other) & (comparisons["other"] == strategy)
    (row,) = records(comparisons[is_as_asked | is_turned])
    if row["strategy"] == strategy:
        return row
    return row | {
        "strategy": strategy,
        "other": other,
        "difference": -row["difference"],
        "low": -row["high"],
        "high": -row["low"],
        "improvement": 1 - row["improvement"],
        "improvement_low": 1 - row["improvement_high"],
        "improvement_high": 1 - row["improvement_low"],
    }


EFFECT_COLUMNS = ["effect", "held_fixed", *COMPARISON_COLUMNS]


def effects(comparisons: pd.DataFrame, strategies: Sequence[StrategyRecord]) -> pd.DataFrame:
    """Searcher and scheduler effects: the pairs that differ in one of the two only.

    ``effect`` is ``searcher`` or ``scheduler``, ``held_fixed`` the name of the other part, which
    both share. ``other`` is the plainer one: random before model-based, FIFO before what stops.
    """
    rows = []
    for one, two in combinations(strategies, 2):
        if (one.searcher == two.searcher) == (one.scheduler == two.scheduler):
            continue
        is_scheduler = one.searcher == two.searcher
        plain, changed = sorted((one, two), key=_plainness)
        rows.append(
            {
                "effect": "scheduler" if is_scheduler else "searcher",
                "held_fixed": one.searcher if is_scheduler else one.scheduler,
                **turned(comparisons, changed.name, plain.name),
            }
        )
    frame = pd.DataFrame(rows, columns=EFFECT_COLUMNS)
    return frame.sort_values("effect", kind="stable").reset_index(drop=True)


def _plainness(strategy: StrategyRecord) -> tuple[bool, bool]:
    return strategy.searcher != "random", strategy.scheduler != "fifo"
