"""A whole check: its rows, what changed, and what follows; ``check.json``."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

from harness.check.compare import Changes
from harness.check.decide import Mark, Row
from harness.check.measures import Inconclusive
from harness.contract.records import Record

CHECK_FORMAT_VERSION: Final = 1

OK, REGRESSION, INCONCLUSIVE = 0, 1, 3

OUTCOMES = {OK: "no regression", REGRESSION: "regression", INCONCLUSIVE: "inconclusive"}


class CheckRecord(Record):
    """``check.json``. ``exit_code``: 0 no regression, 1 regression, 3 inconclusive."""

    format_version: Literal[1] = CHECK_FORMAT_VERSION
    exit_code: int
    outcome: str
    headline: str
    alpha: float
    baseline: str
    run: str
    rows: list[Row]
    versions: dict[str, tuple[str | None, str | None]]
    first_differing_trials: list[tuple[str, int, int]]
    identical_cells: int
    compared_cells: int


def make_check(
    rows: list[Row],
    found: Changes,
    *,
    alpha: float,
    baseline: str,
    run: str,
    inconclusive: Inconclusive,
) -> CheckRecord:
    """Put a check together. A failed strategy is a regression: it gave a result before."""
    marks = Counter(row.mark for row in rows)
    if marks["-"] or marks["!"]:
        code = REGRESSION
    elif marks["?"] and inconclusive == "fail":
        code = INCONCLUSIVE
    else:
        code = OK
    return CheckRecord(
        exit_code=code,
        outcome=OUTCOMES[code],
        headline=_headline(rows, marks, found),
        alpha=alpha,
        baseline=baseline,
        run=run,
        rows=rows,
        versions=found.versions,
        first_differing_trials=found.decisions,
        identical_cells=found.identical,
        compared_cells=found.compared,
    )


def _headline(rows: list[Row], marks: Counter[Mark], found: Changes) -> str:
    if bad := [row for row in rows if row.mark in "-!"]:
        names = ", ".join(dict.fromkeys(row.strategy for row in bad))
        return f"Regression: {names}."
    parts = []
    if marks["?"]:
        parts.append(f"{marks['?']} of {len(rows)} rows are inconclusive.")
    else:
        parts.append("No regression.")
    if found.compared and found.identical == found.compared:
        parts.append("All cells are identical, event by event.")
    elif not found.decisions and found.compared:
        parts.append("Every decision is the same; only times or scores differ.")
    elif found.decisions:
        strategy, seed, trial = found.decisions[0]
        parts.append(
            f"Decisions differ in {len(found.decisions)} of {found.compared} cells, first in "
            f"{strategy}, seed {seed}, at the trial number {trial}."
        )
    if found.versions:
        changed = ", ".join(
            f"{name} {before or 'absent'} → {after or 'absent'}"
            for name, (before, after) in found.versions.items()
        )
        parts.append(f"Versions changed: {changed}.")
    return " ".join(parts)
