"""Who is ahead: the final incumbents over seeds, and what can be said from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.contract import Mode
from reports.analysis.curves import mean_and_spread

STANDING_COLUMNS = [
    "strategy", "seeds", "test", "test_low", "test_high", "validation", "validation_low",
    "validation_high",
]  # fmt: skip


def standings(
    finals: pd.DataFrame, strategies: list[str], mode: Mode, by_test: bool
) -> pd.DataFrame:
    """One row per strategy, the best first, by mean test score of the incumbents.

    Strategies with fewer seeds than the others come after those with more, and the ones without
    any incumbent last: means over different seeds do not compare.

    Args:
        finals: one row per cell, as from :func:`reports.analysis.incumbents.final_incumbents`.
        strategies: all of them; ties keep this order.
        by_test: rank by test score; otherwise (the benchmark has none) by validation score.

    Returns:
        ``STANDING_COLUMNS``: means with the low and high of
        :func:`reports.analysis.curves.mean_and_spread`; NaN where not known.
    """
    frame = pd.DataFrame(
        [_standing(name, finals[finals["strategy"] == name]) for name in strategies],
        columns=STANDING_COLUMNS,
    )
    score = frame["test" if by_test else "validation"]
    # Without a test score a strategy cannot be ranked by it, whatever its validation score.
    order = pd.DataFrame(
        {
            "seeds": -frame["seeds"].where(score.notna(), -1),
            "loss": -score if mode == "max" else score,
        }
    ).sort_values(["seeds", "loss"], kind="stable", na_position="last")
    return frame.loc[order.index].reset_index(drop=True)


def _standing(strategy: str, own: pd.DataFrame) -> dict[str, object]:
    row: dict[str, object] = {"strategy": strategy, "seeds": len(own)}
    for name, column in (("test", "test_score"), ("validation", "validation_score")):
        values = own[column].to_numpy(dtype=float)
        if len(values):
            mean, low, high = (float(v[0]) for v in mean_and_spread(values[:, np.newaxis]))
        else:
            mean = low = high = math.nan
        row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    return row


@dataclass(frozen=True)
class Verdict:
    """The best strategy at this budget, as far as it can be told.

    ``best`` holds several names only where their scores are equal, none where no strategy has a
    score; ``gap`` is how much better than ``runner_up`` (≥ 0; ``None``: nobody to compare with).
    ``left_out``: strategies with fewer seeds than the best, or none.
    """

    best: tuple[str, ...]
    score: float
    low: float
    high: float
    seeds: int
    runner_up: str | None
    gap: float | None
    left_out: tuple[str, ...]


def verdict(standing: pd.DataFrame, by_test: bool) -> Verdict:
    """Read the verdict off :func:`standings`."""
    column = "test" if by_test else "validation"
    if standing.empty or math.isnan(standing[column].iloc[0]):
        names = tuple(standing["strategy"])
        return Verdict((), math.nan, math.nan, math.nan, 0, None, None, names)
    first = standing.iloc[0]
    scored = standing[column].notna() & (standing["seeds"] == first["seeds"])
    rivals = standing[scored]
    is_best = rivals[column] == first[column]
    others = rivals[~is_best]
    return Verdict(
        best=tuple(rivals.loc[is_best, "strategy"]),
        score=float(first[column]),
        low=float(first[f"{column}_low"]),
        high=float(first[f"{column}_high"]),
        seeds=int(first["seeds"]),
        runner_up=None if others.empty else str(others["strategy"].iloc[0]),
        gap=None if others.empty else abs(float(first[column] - others[column].iloc[0])),
        left_out=tuple(standing.loc[~scored, "strategy"]),
    )
