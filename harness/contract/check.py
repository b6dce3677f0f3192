"""A regression check as it is written to ``check.json`` and read by its page.

A difference is signed so that above 0 the new is better.
"""

from __future__ import annotations

from typing import Final, Literal

from harness.contract.records import Record

CHECK_FORMAT_VERSION: Final = 1

Mark = Literal["+", "-", "~", "?", "!", "x"]

MARK_WORDS: dict[Mark, str] = {
    "+": "better", "-": "worse", "~": "same", "?": "inconclusive", "!": "failed",
    "x": "not comparable",
}  # fmt: skip


class CheckRow(Record):
    """One strategy's measure, decided.

    ``difference``: the mean over pairs of seeds, with ``low`` and ``high``, its 95 % t-interval;
    ``before``, ``after``: means of the same seeds; ``seeds``, ``values_before``, ``values_after``:
    the pairs; ``margin``: in the measure's own unit; ``p_worse``, ``p_better``: one-sided, Holm-
    corrected; ``reason``: why the mark.
    """

    strategy: str
    measure: str
    title: str
    unit: str
    is_higher_better: bool
    mark: Mark
    seeds: list[int]
    values_before: list[float]
    values_after: list[float]
    before: float
    after: float
    difference: float
    low: float
    high: float
    margin: float
    p_worse: float
    p_better: float
    is_identical: bool
    reason: str

    @property
    def pairs(self) -> int:
        return len(self.seeds)


class FirstDifference(Record):
    """``trial``: the first that was decided otherwise, as counted among those that reported."""

    strategy: str
    seed: int
    trial: int


class CheckRecord(Record):
    """``check.json``. ``exit_code``: 0 no regression, 1 regression, 3 inconclusive, 4 not
    comparable; ``alpha``: the chance of any false alarm; ``looks``: how many seeds there were at
    each look; ``versions``: name → (before, after), where they differ."""

    format_version: Literal[1] = CHECK_FORMAT_VERSION
    exit_code: int
    outcome: str
    headline: str
    alpha: float
    looks: list[int]
    baseline: str
    run: str
    benchmark: str
    metric: str
    rows: list[CheckRow]
    versions: dict[str, tuple[str | None, str | None]]
    first_differences: list[FirstDifference]
    identical_cells: int
    compared_cells: int
