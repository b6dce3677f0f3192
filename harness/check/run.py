"""The check from its arguments to its exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rich.console import Console

from harness.check.baseline import (
    Baseline,
    IncomparableError,
    make_baseline,
    read_baseline,
    refuse_unfinished,
    with_cells,
)
from harness.check.compare import changes, check_same_question, pair_up
from harness.check.decide import decide
from harness.check.measures import Inconclusive, Margin, default_margins, parse_margins
from harness.check.outputs import PAGE, RECORD, workflow_commands, write_outputs
from harness.check.result import make_check
from harness.check.terminal import print_check
from harness.console import say
from harness.contract import UsageError
from harness.contract.check import CheckRecord, CheckRow
from harness.contract.records import StudyRecord
from harness.contract.text import printable
from harness.study import StudyConfig, make_study
from reports.analysis import analyse
from reports.store import read_run

FIRST_SEEDS = 30
"""How many of the baseline's seeds a check runs by itself: enough for the measured error rates."""


@dataclass(frozen=True)
class CheckPlan:
    """``seeds``: of the first look; ``margins``: those that are not the baseline's; ``alpha`` is of
    the whole check, all its looks together."""

    baseline: Path
    run: Path | None
    seeds: int | None
    confirm: bool
    margins: Mapping[str, Margin]
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
        after = _numbers_of(plan.run)
        check = _decide(plan, before, after, plan.run, [_common_seeds(before, after)])
    else:
        after, check = _run_and_decide(plan, before, console)
    write_outputs(check, before.study, after.study, plan.out, summary)
    print_check(console, check)
    if is_github:
        for line in workflow_commands(check):
            print(printable(line))
    say(console, f"details: {plan.out / PAGE}")
    return check.exit_code


def _numbers_of(path: Path) -> Baseline:
    run = read_run(path)
    refuse_unfinished(run)
    return make_baseline(analyse(run))


def _common_seeds(before: Baseline, after: Baseline) -> int:
    both = before.cells.keys() & after.cells.keys()
    return max((len(before.cells[s].keys() & after.cells[s].keys()) for s in both), default=0)


def _run_and_decide(
    plan: CheckPlan, before: Baseline, console: Console
) -> tuple[Baseline, CheckRecord]:
    """The baseline's own study; then more seeds of those strategies that have a row that is worse
    or inconclusive, while the baseline has more.

    What is settled stays so. A row is called worse only on all seeds that there are to be had, at
    the last look, so that earlier ones add no false alarm.
    """
    # Late: it imports Ray, which a check of two finished runs has no use for.
    from harness.runner import run_study

    if (plan.out / RECORD).exists():
        raise UsageError(
            f"--out {plan.out} holds a finished check, whose run would be taken for the new one: "
            "give another folder, or delete it"
        )
    study, seeds = before.study, before.study.seeds
    names = _still_there(study)
    after: Baseline | None = None
    settled: dict[tuple[str, str], CheckRow] = {}
    looks: list[int] = []
    for count in looks_of(len(seeds), plan.seeds or FIRST_SEEDS, plan.confirm):
        fresh = seeds[looks[-1] if looks else 0 : count]
        out = plan.out / (f"run-{count}-seeds" if looks else "run")
        if looks:
            say(console, f"{len(fresh)} more seeds of {', '.join(names)}, to be sure")
        run_study(study_of(study, names, fresh, out), console)
        more = make_baseline(analyse(read_run(out)))
        after = more if after is None else with_cells(after, more)
        looks.append(count)
        check = _decide(plan, before, after, plan.out / "run", looks, settled)
        names = list(dict.fromkeys(row.strategy for row in check.rows if row.mark in "-?"))
        if not names:
            break
        settled |= {
            (row.strategy, row.measure): row for row in check.rows if row.strategy not in names
        }
    assert after is not None
    return after, check


def _still_there(study: StudyRecord) -> list[str]:
    """The strategies of the baseline that there still are; one that is broken is an error.

    Raises:
        UsageError: one cannot be used; IncomparableError: none is there any more.
    """
    from strategies.registry import STRATEGIES

    for path in study.study.get("strategy_files", ()):
        STRATEGIES.add_file(Path(path))
    known = STRATEGIES.entries()
    names = [strategy.name for strategy in study.strategies if strategy.name in known]
    if not names:
        raise IncomparableError(
            f"none of the baseline's strategies ({', '.join(s.name for s in study.strategies)}) "
            "exists any more: make a new baseline with `python -m harness baseline`"
        )
    for name in names:
        STRATEGIES.get(name)
    return names


def study_of(
    record: StudyRecord, strategies: Sequence[str], seeds: Sequence[int], out: Path
) -> StudyConfig:
    """The baseline's study as a configuration that can be run. Raises :class:`UsageError`."""
    fields = {name: value for name, value in record.study.items() if value is not None}
    asked = {"strategies": list(strategies), "seeds": list(seeds), "out": out}
    return make_study(fields | asked, None)


def _decide(
    plan: CheckPlan,
    before: Baseline,
    after: Baseline,
    run: Path,
    looks: Sequence[int],
    settled: Mapping[tuple[str, str], CheckRow] = MappingProxyType({}),
) -> CheckRecord:
    check_same_question(before, after)
    margins = {
        **default_margins(before.study.benchmark.mode),
        **parse_margins(before.margins),
        **plan.margins,
    }
    rows = decide(pair_up(before, after, margins), plan.alpha)
    return make_check(
        [settled.get((row.strategy, row.measure), row) for row in rows],
        changes(before, after),
        alpha=plan.alpha,
        looks=looks,
        baseline=str(plan.baseline),
        run=str(run),
        inconclusive=plan.inconclusive,
    )
