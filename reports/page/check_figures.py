"""The figures of a check: every row against its margin, and the incumbent's score seed by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from harness.contract.check import CheckRecord, CheckRow
from reports import units
from reports.figures import MarginRow, SeedRow, draw_margins, draw_seed_differences, is_far
from reports.figures.style import Layout, StrategyStyle, short
from reports.page.figure import PageFigure, Table, make_figure
from reports.page.marks import mark_text

SCORE = "best_score"
"""The measure that is shown seed by seed."""
MAX_METRIC = 24
"""Characters, so that a phone has the whole axis label."""
MAX_NAMES = 6
"""Of strategies in a sentence."""

Styles = Mapping[str, StrategyStyle]


def margins_figure(check: CheckRecord, styles: Styles) -> PageFigure | None:
    """Every row's difference, divided by its margin; ``None`` where no row has one."""
    drawn = [row for row in check.rows if _has_ratio(row)]
    if not drawn:
        return None
    titles = dict.fromkeys(row.title for row in drawn)
    groups = [
        (title, [_margin_row(row, styles) for row in drawn if row.title == title])
        for title in titles
    ]
    apart = [row for row in drawn if row.mark != "~"]
    return make_figure(
        lambda layout: draw_margins(groups, layout),
        key="margins",
        title="Differences against their margins",
        reading="Right of the line is better, left of it worse; the band is a change too small to "
        "matter. A filled mark: the difference is called better or worse.",
        alt="Forest plot of "
        + units.counted(len(drawn), "difference")
        + " in margins, above 0 is better. "
        + "".join(
            f"{row.strategy}, {row.title}: {_in_margins(_ratio(row))}, {mark_text(row.mark)}. "
            for row in apart
        )
        + (
            f"{'The others are' if apart else 'All are'} the same as before."
            if len(apart) < len(drawn)
            else ""
        ),
        caption="Mean difference over pairs of seeds with its 95 % t-interval, both divided by the "
        "row's margin. An arrow: further out than is drawn."
        + _left_out([row for row in check.rows if not _has_ratio(row)]),
        table=Table(
            "Differences and their 95 % intervals in margins (above 0: better)",
            ["strategy", "measure", "mark", "difference", "low", "high", "pairs"],
            [
                [
                    row.strategy, row.title, mark_text(row.mark), _in_margins(_ratio(row)),
                    _in_margins(row.low / row.margin), _in_margins(row.high / row.margin),
                    str(row.pairs),
                ]
                for row in drawn
            ],
        ),
        data=pd.DataFrame(
            {
                "strategy": row.strategy, "measure": row.measure, "mark": row.mark,
                "difference": _ratio(row), "low": row.low / row.margin,
                "high": row.high / row.margin, "margin": row.margin,
            }
            for row in drawn
        ),
    )  # fmt: skip


def _has_ratio(row: CheckRow) -> bool:
    """What is not comparable may have numbers all the same, of another machine's time, say: drawn
    beside the others they would be taken for a change."""
    return row.mark != "x" and math.isfinite(row.difference) and row.margin > 0


def _ratio(row: CheckRow) -> float:
    return row.difference / row.margin


def _in_margins(ratio: float) -> str:
    """As short as it can be told: how often a margin matters, not its digits."""
    sign = "+" if ratio > 0 else "−" if ratio < 0 else ""
    return sign + units.quantity(abs(ratio))


def _margin_row(row: CheckRow, styles: Styles) -> MarginRow:
    estimate, low, high = (v / row.margin for v in (row.difference, row.low, row.high))
    found = MarginRow(
        row.strategy, mark_text(row.mark), estimate, low, high, styles[row.strategy],
        is_filled=row.mark in "+-!",
    )  # fmt: skip
    if not is_far(found):
        return found
    mark = f"{found.mark} ({_in_margins(estimate)})"
    return MarginRow(found.name, mark, estimate, low, high, found.style, found.is_filled)


def _left_out(rows: Sequence[CheckRow]) -> str:
    """Which rows a figure does not have, measure by measure."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(row.title, []).append(row.strategy)
    listed = "; ".join(
        f"{title} of {', '.join(found) if len(found) <= MAX_NAMES else f'{len(found)} strategies'}"
        for title, found in names.items()
    )
    return f" Left out, not comparable or without numbers: {listed}." if listed else ""


def seeds_figure(check: CheckRecord, styles: Styles) -> PageFigure | None:
    """How the incumbent's score changed, by seed; ``None`` where no seed has it in both."""
    rows = [row for row in check.rows if row.measure == SCORE]
    drawn = [row for row in rows if any(map(math.isfinite, _differences(row)))]
    if not drawn:
        return None
    return make_figure(
        lambda layout: draw_seed_differences(
            [_seed_row(row, styles, layout) for row in drawn],
            f"better {short(check.metric, MAX_METRIC)} →",
            layout,
        ),
        key="seeds",
        title="Score of the incumbent, seed by seed",
        reading="One dot per seed, right of the line where its score is better than before; the "
        "diamond is their mean, with its 95 % t-interval.",
        alt=f"Strip of dots per strategy: {check.metric} now less before, by seed, above 0 is "
        "better. " + " ".join(f"{row.strategy}: {_spoken(row)}." for row in drawn),
        caption="Each seed is paired with itself before the change. Dots of a strategy stand in "
        "the order of their seeds, downwards; the band is the margin. An arrow: further out than "
        "is drawn. The CSV has the pairs of every measure."
        + _left_out([row for row in rows if row not in drawn]),
        table=Table(
            f"{check.metric} before and now, means over seeds; on how many seeds it differs; and "
            "the mean difference (above 0: better) with its 95 % interval",
            ["strategy", "before", "now", "better on", "worse on", "seeds", "difference",
             "95 % interval"],
            [
                [
                    row.strategy, units.score(row.before), units.score(row.after),
                    str(_count(row, +1)), str(_count(row, -1)), str(row.pairs),
                    units.signed(row.difference), units.signed_interval(row.low, row.high),
                ]
                for row in drawn
            ],
        ),
        data=_pairs(check.rows),
    )  # fmt: skip


def _differences(row: CheckRow) -> list[float]:
    """By seed, above 0 is better."""
    sign = 1.0 if row.is_higher_better else -1.0
    return [
        sign * (after - before)
        for before, after in zip(row.values_before, row.values_after, strict=True)
    ]


def _count(row: CheckRow, sign: int) -> int:
    return sum(sign * difference > 0 for difference in _differences(row))


def _spoken(row: CheckRow) -> str:
    better, worse = _count(row, +1), _count(row, -1)
    return (
        f"{units.signed(row.difference)} on average, better on {better}, worse on {worse} of "
        f"{units.counted(row.pairs, 'seed')}"
    )


def _seed_row(row: CheckRow, styles: Styles, layout: Layout) -> SeedRow:
    note = units.signed(row.difference)
    if layout.is_wide and not math.isnan(row.low):
        note += f" ({units.signed_interval(row.low, row.high)})"
    return SeedRow(
        row.strategy, note, [d for d in _differences(row) if math.isfinite(d)], row.margin,
        row.difference, row.low, row.high, styles[row.strategy],
    )  # fmt: skip


def _pairs(rows: Sequence[CheckRow]) -> pd.DataFrame:
    pairs = [
        (row.strategy, row.measure, *values)
        for row in rows
        for values in zip(
            row.seeds, row.values_before, row.values_after, _differences(row), strict=True
        )
    ]
    return pd.DataFrame(
        pairs, columns=["strategy", "measure", "seed", "before", "now", "difference"]
    )
