"""Device-hours to target: when a cell first had a given score, and how many never had it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.contract import Mode
from reports.analysis.frames import by_cell
from reports.run import Run
from reports.statistics import first_reached, reached_fraction, restricted_mean_time

TARGET_COLUMNS = ["strategy", "target", "seeds", "reached", "mean", "low", "high", "median"]
REACHED_COLUMNS = ["strategy", "target", "held_device_seconds", "fraction", "reached", "seeds"]


def target_times(run: Run, steps: pd.DataFrame) -> pd.DataFrame:
    """The device-seconds held when a cell's incumbent first reached each target.

    One row per finished cell and target of the benchmark (validation scores, fixed before the
    study): ``strategy``, ``seed``, ``target``, ``held_device_seconds`` (∞: never).

    Args:
        steps: as from :func:`reports.analysis.incumbents.incumbent_steps`.
    """
    mode = run.study.benchmark.mode
    steps_of = by_cell(steps)
    rows = [
        {
            "strategy": strategy,
            "seed": seed,
            "target": target,
            "held_device_seconds": _first(steps_of(strategy, seed), target, mode),
        }
        for strategy, seed in run.keys
        if (strategy, seed) in run.cells
        for target in run.study.benchmark.targets
    ]
    columns = ["strategy", "seed", "target", "held_device_seconds"]
    return pd.DataFrame(rows, columns=columns).astype({"held_device_seconds": float})


def _first(steps: pd.DataFrame, target: float, mode: Mode) -> float:
    x = steps["held_device_seconds"].to_numpy(dtype=float)
    return first_reached(x, steps["validation_score"].to_numpy(dtype=float), target, mode)


def time_to_target(times: pd.DataFrame, budget_device_seconds: float) -> pd.DataFrame:
    """Per strategy and target: how many seeds reached it, and the restricted mean device-seconds.

    ``mean`` (with its 95 % t-interval ``low``, ``high``) counts a cell that never got there with
    the whole budget; ``median`` is ∞ where half of them never did.
    """
    rows = []
    for (strategy, target), own in times.groupby(["strategy", "target"], sort=False):
        held = own["held_device_seconds"].to_numpy(dtype=float)
        mean = restricted_mean_time(held, budget_device_seconds)
        rows.append(
            {
                "strategy": strategy,
                "target": target,
                "seeds": len(held),
                "reached": int(np.isfinite(held).sum()),
                "mean": mean.estimate,
                "low": mean.low,
                "high": mean.high,
                # Not interpolated: between a number and ∞ there is none.
                "median": float(np.quantile(held, 0.5, method="higher")),
            }
        )
    return pd.DataFrame(rows, columns=TARGET_COLUMNS)


def reached_curves(times: pd.DataFrame, budget_device_seconds: float) -> pd.DataFrame:
    """The fraction of seeds that have reached a target, as steps from 0 to the budget.

    A cell that never gets there stays in the denominator. Columns: ``REACHED_COLUMNS``.
    """
    frames = []
    for (strategy, target), own in times.groupby(["strategy", "target"], sort=False):
        held = own["held_device_seconds"].to_numpy(dtype=float)
        places: Sequence[float] = [0.0, *held[np.isfinite(held)], budget_device_seconds]
        at = np.unique(places)
        fraction = reached_fraction(held, at)
        frames.append(
            pd.DataFrame(
                {
                    "strategy": strategy,
                    "target": target,
                    "held_device_seconds": at,
                    "fraction": fraction,
                    "reached": np.rint(fraction * len(held)).astype(int),
                    "seeds": len(held),
                }
            )
        )
    if not frames:
        return pd.DataFrame(columns=REACHED_COLUMNS)
    return pd.concat(frames, ignore_index=True)
