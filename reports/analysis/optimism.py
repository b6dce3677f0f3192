"""Validation against test: what picking the best of many by validation promises too much."""

from __future__ import annotations

import pandas as pd

from harness.contract import Mode
from reports.analysis.curves import mean_low_high
from reports.analysis.frames import records
from reports.run import Run

OPTIMISM_COLUMNS = [
    "strategy", "seed", "validation", "test", "optimism", "retrained", "retrained_validation",
    "retrained_test", "retrained_test_sd",
]  # fmt: skip


def optimism(run: Run, finals: pd.DataFrame) -> pd.DataFrame:
    """One row per cell with an incumbent.

    ``optimism`` is how much better the validation score is than the test score; ``retrained`` is
    how many trainings of the incumbent's configuration with fresh seeds gave scores, with the means
    of those and the standard deviation of the test scores (NaN below two).

    Args:
        finals: as from :func:`reports.analysis.incumbents.final_incumbents`.
    """
    sign = 1.0 if run.study.benchmark.mode == "max" else -1.0
    rows = []
    for final in records(finals):
        cell = run.cells[final["strategy"], final["seed"]]
        again = cell.retrained.retrainings if cell.retrained else []
        scored = pd.DataFrame(
            [(r.validation_score, r.test_score) for r in again if r.reason is None],
            columns=["validation", "test"],
            dtype=float,
        )
        rows.append(
            {
                "strategy": final["strategy"],
                "seed": final["seed"],
                "validation": final["validation_score"],
                "test": final["test_score"],
                "optimism": sign * (final["validation_score"] - final["test_score"]),
                "retrained": len(scored),
                "retrained_validation": scored["validation"].mean(),
                "retrained_test": scored["test"].mean(),
                "retrained_test_sd": scored["test"].std(ddof=1),
            }
        )
    return pd.DataFrame(rows, columns=OPTIMISM_COLUMNS)


def optimism_by_strategy(cells: pd.DataFrame, mode: Mode) -> pd.DataFrame:
    """:func:`optimism` over seeds: means with the low and high of
    :func:`reports.analysis.curves.mean_and_spread`.

    ``lucky``: how much better the incumbents' test scores are than those of their configurations
    trained again (NaN without retrainings): picking by validation keeps lucky training seeds too.
    """
    sign = 1.0 if mode == "max" else -1.0
    rows = []
    for strategy, own in cells.groupby("strategy", sort=False):
        row: dict[str, object] = {"strategy": strategy, "seeds": len(own)}
        lucky = sign * (own["test"] - own["retrained_test"])
        for name, values in (
            ("validation", own["validation"]), ("test", own["test"]),
            ("optimism", own["optimism"]), ("retrained_test", own["retrained_test"]),
            ("lucky", lucky),
        ):  # fmt: skip
            mean, low, high = mean_low_high(values.dropna().to_numpy(dtype=float))
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        row["retrained_test_sd"] = own["retrained_test_sd"].mean()
        rows.append(row)
    return pd.DataFrame(rows)
