"""Who is ahead: the final incumbents over seeds, and what can be claimed from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.contract import Mode
from reports.analysis.comparisons import SIGNIFICANCE, turned
from reports.analysis.curves import mean_low_high
from reports.run import Run
from reports.statistics import area_under_steps, mean_ranks, pairs_needed

POWER = 0.8
MOST_SEEDS = 1000
"""More than that nobody runs."""

STANDING_COLUMNS = [
    "strategy", "seeds", "test", "test_low", "test_high", "validation", "validation_low",
    "validation_high", "mean_rank", "area", "trials", "epochs_run", "held_device_seconds",
    "held_share",
]  # fmt: skip


def standings(
    run: Run,
    finals: pd.DataFrame,
    scores: pd.DataFrame,
    areas: pd.DataFrame,
    epochs: pd.DataFrame,
    by_test: bool,
) -> pd.DataFrame:
    """One row per strategy, the best first, by mean test score of the incumbents.

    Strategies with fewer seeds than the others come after those with more, and the ones without
    any incumbent last: means over different seeds do not compare.

    Args:
        finals: one row per cell, as from :func:`reports.analysis.incumbents.final_incumbents`.
        scores: as from :func:`reports.analysis.comparisons.score_table`.
        areas: as from :func:`areas_by_cell`.
        epochs: as from :func:`reports.analysis.savings.epochs_by_cell`.
        by_test: rank by test score; otherwise (the benchmark has none) by validation score.

    Returns:
        ``STANDING_COLUMNS``. ``test`` and ``validation`` are means with the low and high of
        :func:`reports.analysis.curves.mean_and_spread`; ``mean_rank`` is over seeds (1 = best);
        ``area`` the mean of :func:`areas_by_cell`; ``trials``, ``epochs_run`` and
        ``held_device_seconds`` are means over the strategy's cells, ``held_share`` is of the
        budget. NaN where not known.
    """
    mode = run.study.benchmark.mode
    names = [strategy.name for strategy in run.study.strategies]
    ranks = _mean_ranks(scores, names, mode)
    frame = pd.DataFrame(
        [
            {
                **_standing(name, finals[finals["strategy"] == name]),
                "mean_rank": ranks[name],
                "area": _mean(areas.loc[areas["strategy"] == name, "area"]),
                **{
                    column: _mean(epochs.loc[epochs["strategy"] == name, column])
                    for column in ("trials", "epochs_run")
                },
                **_held(run, name),
            }
            for name in names
        ],
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
        mean, low, high = mean_low_high(own[column].to_numpy(dtype=float))
        row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    return row


def _mean_ranks(scores: pd.DataFrame, names: Sequence[str], mode: Mode) -> dict[str, float]:
    """Over the seeds for which any strategy has a score; one without has the last rank there."""
    if scores.empty:
        return dict.fromkeys(names, math.nan)
    values = scores.reindex(columns=list(names)).dropna(how="all").to_numpy(dtype=float)
    if not len(values):
        return dict.fromkeys(names, math.nan)
    return dict(zip(names, map(float, mean_ranks(values, mode)), strict=True))


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else math.nan


def _held(run: Run, strategy: str) -> dict[str, float]:
    held = [
        cell.record.held_device_seconds for (name, _), cell in run.cells.items() if name == strategy
    ]
    mean = float(np.mean(held)) if held else math.nan
    return {"held_device_seconds": mean, "held_share": mean / run.study.budget_device_seconds}


def areas_by_cell(run: Run, steps: pd.DataFrame) -> pd.DataFrame:
    """The area under each cell's best-so-far curve, as the curve's mean height.

    From the moment when all strategies of the seed that ever have a score have one (before, a curve
    has no height) to the budget: the same stretch for all of them. Columns: ``strategy``, ``seed``,
    ``area``; a cell without a score has no row.
    """
    rows = []
    for seed, own in steps.groupby("seed", sort=False):
        start = float(own.groupby("strategy")["held_device_seconds"].min().max())
        for strategy, cell in own.groupby("strategy", sort=False):
            area = area_under_steps(
                cell["held_device_seconds"].to_numpy(dtype=float),
                cell["validation_score"].to_numpy(dtype=float),
                start,
                run.study.budget_device_seconds,
            )
            rows.append({"strategy": strategy, "seed": seed, "area": area})
    return pd.DataFrame(rows, columns=["strategy", "seed", "area"])


@dataclass(frozen=True)
class Verdict:
    """The best strategy at this budget, as far as it can be told.

    ``best`` has the best mean score (``None``: no strategy has any); ``ties`` cannot be told from
    it (the Holm-corrected paired test of the difference, from six pairs on). ``runner_up`` is the
    next one, ``difference`` ≥ 0 (``low``, ``high``: 95 % t-interval over ``pairs`` seeds) by how
    much ``best`` is ahead of it; ``seeds_needed`` would tell the two apart with a power of 80 %, if
    the difference and its spread are as seen (``None``: more than can be said).
    ``left_out``: strategies with fewer seeds than the best, or none.
    """

    best: str | None
    score: float
    low: float
    high: float
    seeds: int
    ties: tuple[str, ...]
    rivals: int
    runner_up: str | None
    difference: float
    difference_low: float
    difference_high: float
    pairs: int
    seeds_needed: int | None
    left_out: tuple[str, ...]


def verdict(
    standing: pd.DataFrame, comparisons: pd.DataFrame, scores: pd.DataFrame, by_test: bool
) -> Verdict:
    """Read the verdict off :func:`standings` and :func:`reports.analysis.comparisons.compare_all`.

    Args:
        scores: as from :func:`reports.analysis.comparisons.score_table`.
    """
    column = "test" if by_test else "validation"
    nan = math.nan
    if standing.empty or math.isnan(standing[column].iloc[0]):
        names = tuple(standing["strategy"])
        return Verdict(None, nan, nan, nan, 0, (), 0, None, nan, nan, nan, 0, None, names)
    first = standing.iloc[0]
    best = str(first["strategy"])
    compared = standing[column].notna() & (standing["seeds"] == first["seeds"])
    rivals = [str(name) for name in standing.loc[compared, "strategy"].iloc[1:]]
    against = {rival: turned(comparisons, best, rival) for rival in rivals}
    runner_up = rivals[0] if rivals else None
    gap = against[runner_up] if runner_up else None
    return Verdict(
        best=best,
        score=float(first[column]),
        low=float(first[f"{column}_low"]),
        high=float(first[f"{column}_high"]),
        seeds=int(first["seeds"]),
        ties=tuple(name for name, row in against.items() if not row["is_told_apart"]),
        rivals=len(rivals),
        runner_up=runner_up,
        difference=nan if gap is None else float(gap["difference"]),
        difference_low=nan if gap is None else float(gap["low"]),
        difference_high=nan if gap is None else float(gap["high"]),
        pairs=0 if gap is None else int(gap["pairs"]),
        seeds_needed=None if runner_up is None else _seeds_needed(scores, best, rivals),
        left_out=tuple(str(name) for name in standing.loc[~compared, "strategy"]),
    )


def _seeds_needed(scores: pd.DataFrame, best: str, rivals: Sequence[str]) -> int | None:
    """To tell the best from the next one, with the level that Holm gives the hardest of all pairs
    (α over their number: the most that may be needed)."""
    differences = (scores[best] - scores[rivals[0]]).dropna().to_numpy()
    if len(differences) < 2:
        return None
    strategies = len(rivals) + 1
    level = SIGNIFICANCE / (strategies * (strategies - 1) / 2)
    sd = float(differences.std(ddof=1))
    return pairs_needed(float(abs(differences.mean())), sd, level, POWER, at_most=MOST_SEEDS)
