"""What stopping early cost: stopped trials that would have won, and how far a rung can be trusted.

Only where trials were stopped. What a stopped trial would have come to is known where the executor
could go on with it for nothing (recorded and analytic curves on the virtual clock); elsewhere only
trials that ran to the cap say how a rung's order compares with the final one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from harness.contract import Mode
from reports.analysis.savings import rung_levels
from reports.run import Cell, Run
from reports.statistics import rank_correlation

COST_COLUMNS = [
    "strategy", "seed", "stopped", "known", "false_stops", "best_with_stopped", "incumbent",
    "regret",
]  # fmt: skip
RUNG_COLUMNS = ["strategy", "rung", "trials", "correlation", "basis", "near_cutoff"]

NEAR_CUTOFF = 0.1
"""A trial that the cap's best one nearly shared its fate with: it was among the worst tenth of
those that went on from the rung."""


def stopping_costs(run: Run) -> pd.DataFrame:
    """One row per cell in which a trial was stopped.

    ``known`` of its ``stopped`` trials have a known rest of their curve; ``false_stops`` of these
    would have ended with a better validation score than the cell's final ``incumbent``;
    ``best_with_stopped`` is the best that the same trials could have given, ``regret`` (≥ 0) how
    far the incumbent is from it. The compute that going on would have taken is not charged here,
    so that the regret is the most that stopping can have cost.
    """
    mode = run.study.benchmark.mode
    sign = 1.0 if mode == "max" else -1.0
    rows = []
    for (strategy, seed), cell in run.cells.items():
        stopped = [end for end in cell.ends if end.status == "stopped"]
        if not stopped:
            continue
        known = [sign * end.unstopped.best for end in stopped if end.unstopped is not None]
        known = [score for score in known if math.isfinite(score)]
        failed = [end.trial for end in cell.ends if end.status == "failed" and not end.retried]
        plain = cell.columns.plain
        scores = sign * plain["validation_score"].to_numpy()
        is_sound = np.isfinite(scores) & ~np.isin(plain["trial"].to_numpy(), failed)
        incumbent = float(scores[is_sound].max(initial=-math.inf))
        best = max([incumbent, *known])
        is_known = any(end.unstopped is not None for end in stopped)
        is_compared = is_known and math.isfinite(incumbent)
        rows.append(
            {
                "strategy": strategy,
                "seed": seed,
                "stopped": len(stopped),
                "known": sum(end.unstopped is not None for end in stopped),
                "false_stops": sum(score > incumbent for score in known) if is_known else None,
                "best_with_stopped": sign * best if is_compared else math.nan,
                "incumbent": sign * incumbent if math.isfinite(incumbent) else math.nan,
                "regret": best - incumbent if is_compared else math.nan,
            }
        )
    return pd.DataFrame(rows, columns=COST_COLUMNS)


def stopping_costs_by_strategy(costs: pd.DataFrame) -> pd.DataFrame:
    """:func:`stopping_costs` over seeds: sums, the mean regret, and ``false_stop_rate`` (of the
    stopped trials whose curve is known)."""
    known = costs[costs["known"] > 0]
    sums = costs.groupby("strategy", sort=False)[["stopped", "known"]].sum()
    false_stops = known.groupby("strategy", sort=False)["false_stops"].sum()
    regret = known.groupby("strategy", sort=False)["regret"]
    frame = sums.assign(
        false_stops=false_stops, mean_regret=regret.mean(), largest_regret=regret.max()
    )
    frame["false_stop_rate"] = frame["false_stops"].astype(float) / frame["known"].where(
        frame["known"] > 0
    )
    return frame.reset_index()


def rung_signals(run: Run) -> pd.DataFrame:
    """How well each rung's scores order the trials as the epochs cap does, over a strategy's seeds.

    One row per strategy with rungs and rung below the cap. ``correlation`` is Spearman's, the mean
    over the cells that have one, of ``trials`` trials in all; ``basis`` says which: ``all``
    (stopped trials' final scores are known) or ``survivors`` (only trials that ran to the cap,
    whose scores lie close together, so that the correlation is lower than among all).
    ``near_cutoff``: the share of cells whose best trial at the cap was, at this rung, in the worst
    tenth of those that went on: luck, rather than the rung, let it pass.
    """
    mode = run.study.benchmark.mode
    rows = []
    for strategy in dict.fromkeys(name for name, _ in run.cells):
        cells = [cell for (name, _), cell in run.cells.items() if name == strategy]
        with_rungs = [cell for cell in cells if cell.record.rungs]
        if not with_rungs:
            continue
        reported = [(cell, _at_rungs(cell)) for cell in with_rungs]
        curves = [(by_epoch, _final_scores(cell, by_epoch)) for cell, by_epoch in reported]
        basis = "all" if any(_is_known(cell) for cell in with_rungs) else "survivors"
        for rung in rung_levels(with_rungs[0].record.rungs, with_rungs[0].record.max_epochs)[:-1]:
            found = [_at_rung(by_epoch, final, rung, mode) for by_epoch, final in curves]
            correlations = [f[1] for f in found if not math.isnan(f[1])]
            lucky = [f[2] for f in found if f[2] is not None]
            rows.append(
                {
                    "strategy": strategy,
                    "rung": rung,
                    "trials": sum(f[0] for f in found),
                    "correlation": float(np.mean(correlations)) if correlations else math.nan,
                    "basis": basis,
                    "near_cutoff": float(np.mean(lucky)) if lucky else math.nan,
                }
            )
    return pd.DataFrame(rows, columns=RUNG_COLUMNS)


def _is_known(cell: Cell) -> bool:
    return any(end.unstopped is not None for end in cell.ends)


class _AtRung(NamedTuple):
    validation_score: float
    decision: str


def _at_rungs(cell: Cell) -> dict[int, dict[int, _AtRung]]:
    """Rung (or cap) → trial → its last report there."""
    levels = rung_levels(cell.record.rungs, cell.record.max_epochs)
    found: dict[int, dict[int, _AtRung]] = {level: {} for level in levels}
    plain = cell.columns.plain
    plain = plain.filter(pc.is_in(plain["epoch"], pa.array(levels, type=pa.int64())))
    columns = (plain[name].to_pylist() for name in ("epoch", "trial", *_AtRung._fields))
    for epoch, trial, *report in zip(*columns, strict=True):
        found[epoch][trial] = _AtRung(*report)
    return found


def _final_scores(cell: Cell, by_epoch: dict[int, dict[int, _AtRung]]) -> dict[int, float]:
    """The score at the cap: reported, or of a stopped trial what it would have been."""
    at_cap = by_epoch.get(cell.record.max_epochs, {})
    scores = {trial: report.validation_score for trial, report in at_cap.items()}
    for end in cell.ends:
        if end.status == "diverged":
            scores[end.trial] = math.nan
        elif end.status == "stopped" and end.unstopped is not None:
            scores[end.trial] = end.unstopped.last
    return scores


def _at_rung(
    by_epoch: dict[int, dict[int, _AtRung]], final: dict[int, float], rung: int, mode: Mode
) -> tuple[int, float, bool | None]:
    """Trials compared, their rank correlation, and whether the best one only just went on."""
    here = by_epoch.get(rung, {})
    trials = [trial for trial in here if trial in final]
    scores = np.array([here[trial].validation_score for trial in trials])
    finals = np.array([final[trial] for trial in trials])
    correlation = rank_correlation(scores, finals, mode)
    went_on = [t for t, report in here.items() if report.decision not in ("stop", "diverged")]
    reached = {t: final[t] for t in went_on if t in final and math.isfinite(final[t])}
    if len(went_on) < 2 or not reached:
        return len(trials), correlation, None
    sign = 1.0 if mode == "max" else -1.0
    winner = max(reached, key=lambda trial: sign * reached[trial])
    worse = sum(
        sign * here[trial].validation_score < sign * here[winner].validation_score
        for trial in went_on
    )
    return len(trials), correlation, worse < max(1.0, NEAR_CUTOFF * len(went_on))
