"""ASHA's epoch savings: what was run, what running to completion would have taken, rung by rung.

Only a trial that the scheduler stopped saved anything: it would have run on to the cap. Trials
that were cut by the budget, failed or diverged are shown apart.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.analysis.frames import by_cell, records
from reports.run import Run

STATUSES = ("stopped", "finished", "failed", "diverged", "cut")


def epochs_by_cell(trials: pd.DataFrame) -> pd.DataFrame:
    """Epoch counts, one row per cell.

    ``epochs_run`` counts every report (a failed trial's repeated epochs too); ``epochs_full`` adds
    what each stopped trial still had to go; ``epoch_savings`` = 1 − run ÷ full, in [0, 1), 0
    where nothing ran; ``epochs_cap`` = trials × cap and ``epochs_of_cap`` = run ÷ that.
    ``device_seconds_run`` were charged to trials; ``device_seconds_saved`` is what the stopped
    trials' remaining epochs would have cost, each at its own trial's mean so far (its start, which
    is paid in any case, included: a little too much); ``device_savings`` their share, likewise.

    Args:
        trials: as from :func:`reports.analysis.frames.trials_frame`.
    """
    left = (trials["max_epochs"] - trials["last_epoch"]).clip(lower=0)
    saved = left.where(trials["status"] == "stopped", 0)
    per_epoch = trials["device_seconds"] / trials["epochs_run"].where(trials["epochs_run"] > 0)
    is_status = {status: trials["status"] == status for status in STATUSES}
    cells = (
        trials.assign(saved=saved, saved_seconds=(saved * per_epoch).fillna(0.0), **is_status)
        .groupby(["strategy", "seed"], sort=False)
        .agg(
            trials=("trial", "size"),
            epochs_run=("epochs_run", "sum"),
            epochs_saved=("saved", "sum"),
            epochs_cap=("max_epochs", "sum"),
            device_seconds_run=("device_seconds", "sum"),
            device_seconds_saved=("saved_seconds", "sum"),
            **{status: (status, "sum") for status in STATUSES},
        )
        .reset_index()
    )
    cells["epochs_full"] = cells["epochs_run"] + cells["epochs_saved"]
    return with_ratios(cells)


def with_ratios(counts: pd.DataFrame) -> pd.DataFrame:
    """Add the ratios; see :func:`epochs_by_cell`."""
    run, full, cap = counts["epochs_run"], counts["epochs_full"], counts["epochs_cap"]
    saved = counts["device_seconds_saved"]
    all_seconds = counts["device_seconds_run"] + saved
    return counts.assign(
        epoch_savings=(1 - run / full.where(full > 0)).where(run > 0, 0.0),
        device_savings=(saved / all_seconds.where(all_seconds > 0)).fillna(0.0),
        epochs_of_cap=run / cap.where(cap > 0),
    )


def rung_table(run: Run, trials: pd.DataFrame, reports: pd.DataFrame) -> pd.DataFrame:
    """What happened on the way to each rung, summed over a strategy's seeds.

    A row is the stretch of epochs ``after`` < epoch ≤ ``rung``; the last one ends at the epochs
    cap, and without rungs there is only that. ``entered`` trials set out for the rung; each was
    ``promoted`` beyond it, ``stopped`` by the scheduler, ``finished`` (at the cap), ``failed``,
    ``diverged`` or ``cut``; so ``entered`` is the sum of these six, and the next row's ``entered``
    is this one's ``promoted``. ``epochs_run`` were reported in the stretch; ``epochs_saved`` of it
    were not, because the trial was stopped by then.
    """
    trials_of, reports_of = by_cell(trials), by_cell(reports[["strategy", "seed", "epoch"]])
    rows = [
        row
        for (strategy, seed), cell in run.cells.items()
        for row in _cell_rungs(
            strategy,
            rung_levels(cell.record.rungs, cell.record.max_epochs),
            trials_of(strategy, seed),
            reports_of(strategy, seed),
        )
    ]
    columns = [
        "strategy", "rung", "after", "entered", "promoted", *STATUSES, "epochs_run",
        "epochs_saved",
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    return table.groupby(["strategy", "rung", "after"], sort=False).sum().reset_index()


def rung_levels(rungs: list[int], max_epochs: int) -> list[int]:
    """The rungs below the cap, and the cap."""
    return [*sorted({rung for rung in rungs if 0 < rung < max_epochs}), max_epochs]


def _cell_rungs(
    strategy: str, levels: list[int], trials: pd.DataFrame, reports: pd.DataFrame
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    statuses, last_epochs = trials["status"].tolist(), trials["last_epoch"].tolist()
    stretch_of_end = [
        _stretch(levels, epoch, status) for epoch, status in zip(last_epochs, statuses, strict=True)
    ]
    stopped_at = np.array(
        [e for e, s in zip(last_epochs, statuses, strict=True) if s == "stopped"], dtype=int
    )
    reported = reports["epoch"].to_numpy(dtype=int)
    entered, after = len(trials), 0
    for i, level in enumerate(levels):
        here = [s for s, k in zip(statuses, stretch_of_end, strict=True) if k == i]
        # In the last stretch lies everything beyond the cap too, so that no epoch is lost.
        is_last = i == len(levels) - 1
        epochs = (reported > after) & ((reported <= level) | is_last)
        saved = (level - stopped_at.clip(min=after)).clip(min=0)
        rows.append(
            {
                "strategy": strategy,
                "rung": level,
                "after": after,
                "entered": entered,
                "promoted": entered - len(here),
                **{status: here.count(status) for status in STATUSES},
                "epochs_run": int(epochs.sum()),
                "epochs_saved": int(saved.sum()),
            }
        )
        entered, after = entered - len(here), level
    return rows


def _stretch(levels: list[int], last_epoch: int, status: str) -> int:
    """The stretch in which a trial ended: one that failed or was cut was past its last report."""
    find = bisect_right if status in ("failed", "cut") else bisect_left
    return min(find(levels, last_epoch), len(levels) - 1)


@dataclass(frozen=True)
class SynchronousIdeal:
    """What synchronous successive halving would run: (rung, trials that reach it), and epochs."""

    rungs: tuple[tuple[int, int], ...]
    epochs_run: int
    epochs_full: int


def synchronous_ideal(trials: int, grace: int, factor: float, max_epochs: int) -> SynchronousIdeal:
    """The yardstick for ASHA: successive halving that waits for each rung to fill.

    Of n trials at a rung ⌊n ÷ factor⌋ go on, at least one. 100 trials, grace 5, factor 3, cap 45:
    100 × 5 + 33 × 10 + 11 × 30 = 1,160 of 4,500 epochs.

    Source: Jamieson & Talwalkar 2016 (arXiv 1502.07943), Algorithm "Successive Halving"; rungs
    as in Li et al. 2020 (arXiv 1810.05934), section 3.1.

    Raises:
        ValueError: ``factor`` ≤ 1, ``grace`` < 1 or negative ``trials``.
    """
    if factor <= 1 or grace < 1 or trials < 0:
        raise ValueError(
            f"needs factor > 1, grace >= 1, trials >= 0; given {factor=}, {grace=}, {trials=}"
        )
    levels = []
    milestone = float(grace)
    while milestone < max_epochs:
        # Between two epochs a trial is compared at the later one, as in Ray.
        levels.append(math.ceil(milestone))
        milestone *= factor
    rungs, going, after, epochs = [], trials, 0, 0
    for rung in rung_levels(levels, max_epochs):
        rungs.append((rung, going))
        epochs += going * (rung - after)
        after = rung
        going = min(going, max(1, int(going // factor)))
    return SynchronousIdeal(tuple(rungs), epochs, trials * max_epochs)


def savings_by_strategy(epochs: pd.DataFrame) -> pd.DataFrame:
    """:func:`epochs_by_cell` summed over seeds, with its ratios made from the sums."""
    counts = [
        "trials", "epochs_run", "epochs_full", "epochs_cap", "device_seconds_run",
        "device_seconds_saved", *STATUSES,
    ]  # fmt: skip
    sums = epochs.groupby("strategy", sort=False)[counts].sum().reset_index()
    return with_ratios(sums)


def ideal_by_strategy(run: Run, epochs: pd.DataFrame) -> pd.DataFrame:
    """The synchronous ideal for as many trials as each cell with rungs had, summed over seeds.

    Returns:
        ``strategy``, ``epochs_run``, ``epochs_full``, ``share`` (run ÷ full); a row per strategy
        with rungs and at least one trial.
    """
    rows = []
    for row in records(epochs):
        record = run.cells[row["strategy"], row["seed"]].record
        levels = rung_levels(record.rungs, record.max_epochs)
        if len(levels) > 1:
            factor = _factor(record.settings, levels)
            ideal = synchronous_ideal(row["trials"], levels[0], factor, record.max_epochs)
            rows.append(
                {
                    "strategy": row["strategy"],
                    "epochs_run": ideal.epochs_run,
                    "epochs_full": ideal.epochs_full,
                }
            )
    frame = pd.DataFrame(rows, columns=["strategy", "epochs_run", "epochs_full"])
    sums = frame.groupby("strategy", sort=False).sum().reset_index()
    return sums.assign(share=sums["epochs_run"] / sums["epochs_full"])


def _factor(settings: dict[str, object], levels: list[int]) -> float:
    """The reduction factor: as recorded, else the ratio of the first two rungs."""
    recorded = settings.get("reduction_factor")
    if isinstance(recorded, int | float) and recorded > 1:
        return float(recorded)
    return levels[1] / levels[0]
