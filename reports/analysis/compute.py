"""Where the device time went."""

from __future__ import annotations

import pandas as pd

from harness.contract.records import KINDS
from reports.run import Run

USEFUL_KINDS = ("train", "evaluate")
LEDGER_TOLERANCE = 0.01
"""The ledger's kinds must sum to the device time held within this share of it."""


def device_time(run: Run) -> pd.DataFrame:
    """Device-seconds by kind, one row per cell and kind.

    ``share`` is of the cell's ``held`` device-seconds (0 where it held none).
    """
    rows = []
    for (strategy, seed), cell in run.cells.items():
        held = cell.record.held_device_seconds
        seconds = dict.fromkeys(KINDS, 0.0)
        for row in cell.record.ledger:
            seconds[row.kind] += row.device_seconds
        rows += [
            {
                "strategy": strategy,
                "seed": seed,
                "kind": kind,
                "device_seconds": seconds[kind],
                "held": held,
                "share": seconds[kind] / held if held > 0 else 0.0,
            }
            for kind in KINDS
        ]
    columns = ["strategy", "seed", "kind", "device_seconds", "held", "share"]
    return pd.DataFrame(rows, columns=columns)


def device_time_by_strategy(cells: pd.DataFrame) -> pd.DataFrame:
    """:func:`device_time` summed over seeds: one row per strategy, one column per kind + ``held``.

    Strategies keep their order; values are device-seconds.
    """
    wide = cells.pivot_table(
        index="strategy", columns="kind", values="device_seconds", aggfunc="sum", sort=False
    ).reindex(columns=list(KINDS), fill_value=0.0)
    held = cells.drop_duplicates(["strategy", "seed"]).groupby("strategy", sort=False)["held"].sum()
    return wide.assign(held=held)


def useful_shares(by_strategy: pd.DataFrame) -> pd.Series:
    """The share of :func:`device_time_by_strategy` that trained or evaluated, by strategy; of those
    that held a device."""
    held = by_strategy[by_strategy["held"] > 0]
    return held[list(USEFUL_KINDS)].sum(axis=1) / held["held"]


def ledger_gaps(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells whose kinds do not sum to what they held: ``strategy``, ``seed``, ``sum``, ``held``."""
    sums = cells.groupby(["strategy", "seed"], sort=False).agg(
        sum=("device_seconds", "sum"), held=("held", "first")
    )
    gap = (sums["sum"] - sums["held"]).abs()
    return sums[gap > LEDGER_TOLERANCE * sums["held"].abs() + 1e-9].reset_index()
