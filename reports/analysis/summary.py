"""The numbers of ``summary.json``."""

from __future__ import annotations

import math

import pandas as pd

from harness.contract.records import KINDS, CellSummary, Summary
from reports.analysis.compute import USEFUL_KINDS
from reports.analysis.frames import by_cell
from reports.run import Cell, Run


def summarise(
    run: Run, epochs: pd.DataFrame, device_time: pd.DataFrame, finals: pd.DataFrame
) -> Summary:
    """Every cell's numbers; a cell that is missing has its reason and zeros.

    Args:
        epochs: as from :func:`reports.analysis.savings.epochs_by_cell`.
        device_time: as from :func:`reports.analysis.compute.device_time`.
        finals: as from :func:`reports.analysis.incumbents.final_incumbents`.
    """
    cells: dict[str, dict[str, CellSummary]] = {s.name: {} for s in run.study.strategies}
    own = [by_cell(frame) for frame in (epochs, device_time, finals)]
    for strategy, seed in run.keys:
        if (strategy, seed) in run.cells:
            frames = [of(strategy, seed) for of in own]
            summary = _summarise_cell(run.cells[strategy, seed], *frames)
        else:
            summary = _missing(run.problems[strategy, seed])
        cells[strategy][str(seed)] = summary
    study = run.study
    return Summary(
        benchmark=study.benchmark.name,
        metric=study.benchmark.metric,
        mode=study.benchmark.mode,
        budget_device_seconds=study.budget_device_seconds,
        device_kind=study.devices.kind,
        strategies=cells,
    )


def _summarise_cell(
    cell: Cell, epochs: pd.DataFrame, device_time: pd.DataFrame, finals: pd.DataFrame
) -> CellSummary:
    record = cell.record
    seconds = dict(zip(device_time["kind"], device_time["device_seconds"], strict=True))
    held = record.held_device_seconds
    # A cell without any trial has no row.
    count = epochs.iloc[0] if len(epochs) else dict.fromkeys(epochs.columns, 0)
    test = float(finals["test_score"].iloc[0]) if len(finals) else math.nan
    return CellSummary(
        status=record.status,
        reason=record.reason,
        trials=int(count["trials"]),
        failed_trials=int(count["failed"]),
        diverged_trials=int(count["diverged"]),
        epochs_run=int(count["epochs_run"]),
        epochs_full=int(count["epochs_full"]),
        epoch_savings=float(count["epoch_savings"]),
        best_validation=float(finals["validation_score"].iloc[0]) if len(finals) else None,
        test_of_incumbent=None if math.isnan(test) else test,
        device_seconds_held=held,
        device_seconds_by_kind={kind: float(seconds[kind]) for kind in KINDS},
        useful_share=sum(seconds[kind] for kind in USEFUL_KINDS) / held if held > 0 else None,
        setup_seconds=record.setup_seconds,
        wall_seconds=record.wall_seconds,
    )


def _missing(reason: str) -> CellSummary:
    return CellSummary(
        status="missing",
        reason=reason,
        trials=0,
        failed_trials=0,
        diverged_trials=0,
        epochs_run=0,
        epochs_full=0,
        epoch_savings=0.0,
        best_validation=None,
        test_of_incumbent=None,
        device_seconds_held=0.0,
        device_seconds_by_kind=dict.fromkeys(KINDS, 0.0),
        useful_share=None,
        setup_seconds=0.0,
        wall_seconds=0.0,
    )
