"""Retrains a study's incumbents, from what there is to the files in the cells' folders."""

from __future__ import annotations

from rich.console import Console

from harness.clock import Clock
from harness.console import say
from harness.contract.records import Retraining
from harness.decided import DecidedStudy
from harness.executor import Executor
from harness.retraining.display import retraining_lines
from harness.retraining.plan import plan_retraining
from harness.store import RunStore


def retrain_incumbents(
    study: DecidedStudy, executor: Executor, store: RunStore, console: Console, clock: Clock
) -> None:
    """Train what ``--retrain`` asks for and is not there yet. Nothing in here fails the study:
    what could not be retrained is told, and tried when the same command is given again."""
    if study.config.retrain == 0:
        return

    plan = plan_retraining(study, store)
    jobs = plan.jobs
    names = [f"{strategy} seed {seed}" for strategy, seed in study.cells]
    for cell, problem in plan.problems.items():
        say(console, f"cannot be retrained: {names[cell]}: {problem}", "yellow")
    kept = study.config.retrain * len(plan.files) - len(jobs)
    say(
        console,
        f"retraining {len(plan.files)} incumbent(s) with {study.config.retrain} fresh seed(s), "
        f"outside the budget: {len(jobs)} training(s)"
        + (f"; {kept} are kept from before" if kept else ""),
    )
    if not jobs:
        return
    left = len(jobs)
    with retraining_lines(console, len(jobs), clock) as lines:

        def done(index: int, retraining: Retraining) -> None:
            nonlocal left
            cell = jobs[index].cell
            plan.files[cell].add(retraining)
            left -= 1
            lines.done(names[cell], retraining)

        reason = executor.retrain(study, store, jobs, done)
    if reason is not None:
        say(console, f"not retrained: {left} of {len(jobs)}: {reason}", "yellow")
