"""What searchers heard: at which epoch the score of each trial was told."""

from __future__ import annotations

import pandas as pd

from reports.run import Run

TOLD_COLUMNS = ["strategy", "epoch", "trials", "stand_ins"]


def told_scores(run: Run) -> pd.DataFrame:
    """One row per strategy and epoch at which final scores were told, summed over seeds.

    ``trials`` were told at that epoch, their last; for ``stand_ins`` of them, which failed or
    diverged, it was the worst finite score of the cell in place of their own. A random searcher
    hears nothing and has no row.
    """
    rows = [
        {
            "strategy": strategy,
            "epoch": end.epoch,
            "trials": 1,
            "stand_ins": end.status in ("failed", "diverged"),
        }
        for (strategy, _), cell in run.cells.items()
        for end in cell.ends
        if not end.retried and end.told_score is not None
    ]
    table = pd.DataFrame(rows, columns=TOLD_COLUMNS)
    # By the study's order of strategies, then by epoch.
    table["strategy"] = pd.Categorical(
        table["strategy"], [strategy.name for strategy in run.study.strategies]
    )
    sums = table.groupby(["strategy", "epoch"], observed=True).sum().reset_index()
    return sums.astype({"strategy": object, "trials": int, "stand_ins": int})
