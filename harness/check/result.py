"""What follows from a check's rows: its outcome, its headline, its exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.check.compare import Changes
from harness.check.measures import Inconclusive
from harness.contract.check import CheckRecord, CheckRow

OK, REGRESSION, INCONCLUSIVE, NOT_COMPARABLE = 0, 1, 3, 4

OUTCOMES = {
    OK: "no regression", REGRESSION: "regression", INCONCLUSIVE: "inconclusive",
    NOT_COMPARABLE: "not comparable",
}  # fmt: skip


def make_check(
    rows: Sequence[CheckRow],
    found: Changes,
    *,
    alpha: float,
    looks: Sequence[int],
    baseline: str,
    run: str,
    inconclusive: Inconclusive,
) -> CheckRecord:
    """Put a check together. A failed strategy is a regression: it gave a result before."""
    code = _exit_code(rows, found, inconclusive)
    return CheckRecord(
        exit_code=code,
        outcome=OUTCOMES[code],
        headline=" ".join([_headline(rows, found), *_changes(found)]),
        alpha=alpha,
        looks=list(looks),
        baseline=baseline,
        run=run,
        benchmark=found.benchmark,
        metric=found.metric,
        rows=list(rows),
        versions=found.versions,
        first_differences=found.first_differences,
        identical_cells=found.identical,
        compared_cells=found.compared,
    )


def _exit_code(rows: Sequence[CheckRow], found: Changes, inconclusive: Inconclusive) -> int:
    marks = {row.mark for row in rows}
    if marks & {"-", "!"}:
        return REGRESSION
    if found.removed or marks <= {"x"}:
        return NOT_COMPARABLE
    if "?" in marks and inconclusive == "fail":
        return INCONCLUSIVE
    return OK


def _headline(rows: Sequence[CheckRow], found: Changes) -> str:
    marks = Counter(row.mark for row in rows)
    if marks["-"] or marks["!"]:
        worse = dict.fromkeys(row.strategy for row in rows if row.mark in "-!")
        return f"Regression: {', '.join(worse)}."
    if found.removed:
        return (
            f"The run lacks {', '.join(found.removed)}, which the baseline has: run what is "
            "missing, or make a new baseline without it."
        )
    if set(marks) <= {"x"}:
        return "Nothing can be compared: see the rows for why."
    if marks["?"]:
        return f"{marks['?']} of {len(rows)} rows are inconclusive; --confirm adds seeds to them."
    return "No regression."


def _changes(found: Changes) -> list[str]:
    parts = []
    if found.compared and found.identical == found.compared:
        parts.append("All cells are identical, event by event.")
    elif found.first_differences:
        first = found.first_differences[0]
        parts.append(
            f"Decisions differ in {len(found.first_differences)} of {found.compared} cells, first "
            f"in {first.strategy}, seed {first.seed}, at the trial number {first.trial}."
        )
    elif found.compared:
        parts.append("Every decision is the same; only times or scores differ.")
    if found.added:
        parts.append(f"New, not in the baseline: {', '.join(found.added)}.")
    if found.versions:
        changed = ", ".join(
            f"{name} {before or 'absent'} → {after or 'absent'}"
            for name, (before, after) in found.versions.items()
        )
        parts.append(f"Versions changed: {changed}.")
    return parts
