"""Notices a cell in which nothing happens any more: every trial waits for another one.

A scheduler that pauses trials (PBT, HyperBand) may come to wait for one that will never report.
Without a watchdog the cell would hold its devices to the end of its budget, idle, and end as one
that was completed.
"""

from __future__ import annotations

from collections.abc import Iterable

from ray.tune.experiment import Trial
from ray.tune.result import TRAINING_ITERATION

from harness.tuning.names import trial_number

MIN_PATIENCE_S, MAX_PATIENCE_S = 10.0, 300.0
MAX_SHOWN = 8


def patience_s(budget_s: float) -> float:
    """How long nothing may run: a quarter of the cell's time, but long enough for a checkpoint to
    be written, and no longer than anyone would wait."""
    return min(max(budget_s / 4, MIN_PATIENCE_S), MAX_PATIENCE_S)


def why_stuck(trials: Iterable[Trial]) -> str | None:
    """The state of a cell in which nothing runs and somebody waits, in one line; else ``None``."""
    paused = []
    for trial in trials:
        if trial.status == Trial.RUNNING:
            return None
        if trial.status == Trial.PAUSED:
            paused.append(trial)
    if not paused:
        return None
    shown = [
        f"trial {trial_number(str(trial))} at epoch {trial.last_result.get(TRAINING_ITERATION, 0)}"
        for trial in paused[:MAX_SHOWN]
    ]
    if len(paused) > MAX_SHOWN:
        shown.append(f"{len(paused) - MAX_SHOWN} more")
    return (
        f"stuck: no trial runs, and the scheduler goes on with none of the {len(paused)} that are "
        f"paused ({', '.join(shown)})"
    )
