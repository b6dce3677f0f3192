"""The page of a regression check: what got worse or better, by how much, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pandas as pd

from harness.contract.check import MARK_WORDS, CheckRecord, CheckRow, Mark
from harness.contract.records import StudyRecord
from reports import units
from reports.figures.style import strategy_styles
from reports.merge import differing, environments
from reports.page.check_figures import margins_figure, seeds_figure
from reports.page.figure import csv_link
from reports.page.marks import MARK_SIGNS, MARK_TONES
from reports.page.render import render_template
from reports.statistics import MIN_PAIRS_TO_CLAIM

MAX_FIRST_DIFFERENCES = 20

NOTABLE: Final[tuple[Mark, ...]] = ("-", "!", "?", "x", "+")
"""What a reader must see, the most urgent first; what is the same as before can wait."""

OUTCOME_SIGNS = {0: "✓", 1: "✗", 3: "?", 4: "⊘"}
OUTCOME_TONES = {0: "good", 1: "bad", 3: "unsure", 4: "none"}
"""By exit code: a sign and, never alone, a colour (a class of ``page.css``)."""


def render_check_page(check: CheckRecord, before: StudyRecord, after: StudyRecord) -> str:
    """The whole page; the same check gives the same page.

    Args:
        before, after: the baseline's study and the run's.
    """
    styles = strategy_styles(list(dict.fromkeys(row.strategy for row in check.rows)))
    unit = units.ComputeUnit.for_budget(before.devices.kind, before.budget_device_seconds)
    table = environments({"before": before, "now": after})
    return render_template(
        "check.html.j2",
        title=f"{check.benchmark}: {check.outcome} since {check.baseline}",
        check=check,
        study=before,
        styles=styles,
        budget=unit.text(before.budget_device_seconds),
        looks=_looks(check.looks),
        sign=OUTCOME_SIGNS.get(check.exit_code, "?"),
        tone=OUTCOME_TONES.get(check.exit_code, "unsure"),
        signs=MARK_SIGNS,
        tones=MARK_TONES,
        words=MARK_WORDS,
        order=(*NOTABLE, "~"),
        counts=Counter(row.mark for row in check.rows),
        notable=sorted(
            (row for row in check.rows if row.mark in NOTABLE),
            key=lambda row: NOTABLE.index(row.mark),
        ),
        rows_csv=csv_link(_frame(check.rows)),
        margins=margins_figure(check, styles),
        seeds=seeds_figure(check, styles),
        first_differences=check.first_differences[:MAX_FIRST_DIFFERENCES],
        changed=differing(table),
        everything=_with_origin(table, before, after),
        is_dirty=bool(before.git_dirty or after.git_dirty),
        min_pairs=MIN_PAIRS_TO_CLAIM,
    )


def _looks(looks: Sequence[int]) -> str:
    """``30, then 60 seeds``."""
    *earlier, last = looks or [0]
    return "".join(f"{count:,}, then " for count in earlier) + units.counted(last, "seed")


def _with_origin(table: pd.DataFrame, before: StudyRecord, after: StudyRecord) -> pd.DataFrame:
    """When and how each was made, too: always different, so that it would hide what matters."""
    own = {
        "started": [before.created_at, after.created_at],
        "command": [before.command, after.command],
    }
    return pd.concat([table, pd.DataFrame.from_dict(own, orient="index", columns=table.columns)])


def _frame(rows: Sequence[CheckRow]) -> pd.DataFrame:
    """Every number of every row but the single seeds'."""
    apart = {"seeds", "values_before", "values_after"}
    fields = [name for name in CheckRow.model_fields if name not in apart]
    return pd.DataFrame(
        [row.model_dump(exclude=apart) | {"pairs": row.pairs} for row in rows],
        columns=[*fields, "pairs"],
    )
