"""The check from its arguments to its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.check.baseline import Baseline, make_baseline, read_baseline
from harness.check.compare import changes, check_same_question, pair_up
from harness.check.decide import decide
from harness.check.measures import Inconclusive, Margin
from harness.check.outputs import (
    HEADER,
    action_benchmark,
    cells_of,
    junit,
    markdown,
    workflow_commands,
)
from harness.check.result import CheckRecord, make_check
from harness.console import say
from harness.contract import UsageError
from harness.contract.files import write_atomically
from harness.contract.records import StudyRecord
from harness.study import StudyConfig, make_study
from reports.analysis import analyse
from reports.store import read_run

FIRST_SEEDS = 30
"""How many of the baseline's seeds a check runs by itself: enough for the measured error rates."""

MARK_STYLES = {"+": "green", "-": "bold red", "!": "bold red", "?": "yellow", "x": "dim", "~": ""}


@dataclass(frozen=True)
class CheckPlan:
    """``alpha`` is of the whole check, all its looks together."""

    baseline: Path
    run: Path | None
    seeds: int | None
    confirm: bool
    margins: dict[str, Margin]
    alpha: float
    inconclusive: Inconclusive
    out: Path


def looks_of(available: int, first: int, confirm: bool) -> list[int]:
    """Numbers of seeds to decide on, one after the other: doubled up to what the baseline has."""
    looks = [min(first, available)]
    while confirm and looks[-1] < available:
        looks.append(min(2 * looks[-1], available))
    return looks


def run_check(plan: CheckPlan, console: Console, summary: Path | None, is_github: bool) -> int:
    """Run what must be run, decide, write the outputs, and return the exit code.

    Raises:
        UsageError: the baseline cannot be read, or the run cannot; IncomparableError: the two ask
            different questions.
    """
    before = read_baseline(plan.baseline)
    if plan.run is not None:
        check = _decide(plan, before, _as_baseline(plan.run), plan.run, plan.alpha)
    else:
        check = _run_and_decide(plan, before, console)
    _write(check, plan.out, summary)
    _print(check, console)
    if is_github:
        for line in workflow_commands(check):
            print(line)
    say(console, f"details: {plan.out}")
    return check.exit_code


def _run_and_decide(plan: CheckPlan, before: Baseline, console: Console) -> CheckRecord:
    """The baseline's own study, on more and more seeds while rows are worse or inconclusive."""
    from harness.runner import run_study

    looks = looks_of(len(before.study.seeds), plan.seeds or FIRST_SEEDS, plan.confirm)
    # Every look may raise a false alarm: each gets its share of the whole (Bonferroni).
    alpha = plan.alpha / len(looks)
    for number, count in enumerate(looks, start=1):
        seeds = before.study.seeds[:count]
        out = plan.out / "run" if number == 1 else plan.out / f"run-{count}-seeds"
        run_study(study_of(before.study, seeds, out), console)
        check = _decide(plan, before, _as_baseline(out), out, alpha)
        if not any(row.mark in "-?" for row in check.rows):
            break
    return check


def study_of(record: StudyRecord, seeds: Sequence[int], out: Path) -> StudyConfig:
    """The baseline's study as a configuration that can be run. Raises :class:`UsageError`."""
    fields = {name: value for name, value in record.study.items() if value is not None}
    return make_study({**fields, "seeds": list(seeds), "out": out}, None)


def _as_baseline(run: Path) -> Baseline:
    return make_baseline(analyse(read_run(run)))


def _decide(
    plan: CheckPlan, before: Baseline, after: Baseline, run: Path, alpha: float
) -> CheckRecord:
    check_same_question(before, after)
    rows = decide(pair_up(before, after, plan.margins), alpha)
    return make_check(
        rows,
        changes(before, after),
        alpha=alpha,
        baseline=str(plan.baseline),
        run=str(run),
        inconclusive=plan.inconclusive,
    )


def _write(check: CheckRecord, out: Path, summary: Path | None) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in (
            ("check.json", check.model_dump_json(indent=2) + "\n"),
            ("check.md", markdown(check)),
            ("junit.xml", junit(check)),
            ("benchmark.json", action_benchmark(check)),
        ):
            write_atomically(out / name, content)
        if summary is not None:
            with summary.open("a", encoding="utf-8") as file:
                file.write(markdown(check))
    except OSError as error:
        raise UsageError(f"cannot write the check to {error.filename}: {error.strerror}") from None


def _print(check: CheckRecord, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in HEADER:
        table.add_column(name, overflow="fold")
    for row in check.rows:
        table.add_row(*(Text(cell, style=MARK_STYLES[row.mark]) for cell in cells_of(row)))
    console.print(table)
    for row in check.rows:
        if row.mark not in "~+":
            say(
                console,
                f"{row.mark} {row.strategy}, {row.measure}: {row.reason}",
            )
    console.print(Text(check.headline, style="bold"))
