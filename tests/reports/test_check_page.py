"""The check's page: whatever the check is, it says all of it and runs nothing."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

from harness.contract import Mode
from harness.contract.check import CheckRecord, CheckRow, FirstDifference, Mark
from harness.contract.records import StudyRecord
from reports.figures.labelled_rows import draw_interval, labelled_rows
from reports.figures.margins import FAR
from reports.figures.seed_differences import SeedRow, seed_reach
from reports.figures.style import NARROW, WIDE, figure_style, short_in_the_middle, strategy_styles
from reports.page.check import MAX_FIRST_DIFFERENCES, NOTABLE, render_check_page
from tests.reports.make_run import study
from tests.reports.test_figures import contrast, page_colours
from tests.reports.test_page import Page

MEASURES = (
    ("best_score", "score of the incumbent"),
    ("epoch_savings", "epoch savings"),
    ("searcher_seconds", "searcher's seconds"),
)
OUTCOMES = {0: "no regression", 1: "regression", 3: "inconclusive", 4: "not comparable"}


def row(strategy: str = "a", measure: int = 0, mark: Mark = "~", **fields: Any) -> CheckRow:
    """Eight seeds around 0.8, on average 0.003 better."""
    name, title = MEASURES[measure]
    before = [0.8 + 0.001 * seed for seed in range(8)]
    values: dict[str, Any] = {
        "seeds": list(range(8)),
        "values_before": before,
        "values_after": [value + 0.002 + 0.002 * (i % 2) for i, value in enumerate(before)],
        "before": 0.8035,
        "after": 0.8065,
        "difference": 0.003,
        "low": 0.0021,
        "high": 0.0039,
        "margin": 0.001,
        "p_worse": 1.0,
        "p_better": 0.004,
        "is_identical": False,
        "is_higher_better": True,
        "reason": f"the reason of {strategy}'s {title}",
    }
    return CheckRow(
        strategy=strategy, measure=name, title=title, unit="", mark=mark, **values | fields
    )


NOTHING = {
    "seeds": [], "values_before": [], "values_after": [],
    **dict.fromkeys(("before", "after", "difference", "low", "high", "margin"), math.nan),
    **dict.fromkeys(("p_worse", "p_better"), math.nan),
}  # fmt: skip


def identical(strategy: str, measure: int = 0) -> CheckRow:
    before = [0.8 + 0.001 * seed for seed in range(8)]
    return row(
        strategy, measure, values_before=before, values_after=before, after=0.8035,
        difference=0.0, low=0.0, high=0.0, is_identical=True, reason="identical on every seed",
    )  # fmt: skip


def check(rows: list[CheckRow], exit_code: int = 0, **fields: Any) -> CheckRecord:
    values: dict[str, Any] = {
        "headline": "The headline.",
        "alpha": 0.01,
        "looks": [30, 60],
        "baseline": "baselines/toy.json",
        "run": "runs/now",
        "benchmark": "toy",
        "metric": "test_accuracy",
        "versions": {},
        "first_differences": [],
        "identical_cells": 6,
        "compared_cells": 8,
    }
    return CheckRecord(
        rows=rows, exit_code=exit_code, outcome=OUTCOMES[exit_code], **values | fields
    )


def studies(mode: Mode = "max", **after: Any) -> tuple[StudyRecord, StudyRecord]:
    before = study(["a"], range(8), mode)
    return before, before.model_copy(update=after)


def page_of(found: CheckRecord, mode: Mode = "max", **after: Any) -> Page:
    """The page, of which what must always hold has been asked."""
    html = render_check_page(found, *studies(mode, **after))
    page = Page(html)
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"] for a in page.all("a") if "download" not in a} <= {f"#{i}" for i in ids}
    assert page.all("script") == [{}]
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "base", "form"}
        assert not any(name.startswith("on") or name == "src" for name in attributes)
    assert set(re.findall(r"https?://[^\s\"'<)]+", html)) <= {
        "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink",
    }  # fmt: skip
    assert "default-src 'none'" in html
    assert all("scope" in header for header in page.all("th"))
    assert all(svg["role"] == "img" and svg["aria-labelledby"] for svg in page.all("svg"))
    regions = [d for d in page.all("div") if d.get("class") == "scroll"]
    assert len(regions) == len(page.all("table"))
    assert all(r["tabindex"] == "0" and r["aria-label"] for r in regions)
    for each in found.rows:
        again = each.mark in NOTABLE
        assert page.text.count(each.reason) >= 1 + again, (
            "every row, and what is not the same twice"
        )
    return page


def every_mark() -> list[CheckRow]:
    return [
        row("a", 0, "+"), row("a", 1, "~"), row("b", 0, "-", difference=-0.02, low=-0.021,
                                                high=-0.019), row("b", 1, "?"),
        row("c", 0, "!", **NOTHING), row("c", 1, "x", **NOTHING),
    ]  # fmt: skip


def test_what_an_engineer_asks_first() -> None:
    page = page_of(check(every_mark(), 1, headline="Regression: b."))
    for part in (
        "✗", "Regression: b.", "toy · cluster", "100 core-seconds per strategy and seed",
        "30, then 60 seeds", "α = 0.01", "baselines/toy.json", "runs/now",
        "6 of 8 cells are identical", "This check ended with 1.",
    ):  # fmt: skip
        assert part in page.text.replace("\xa0", " ")


def test_the_most_urgent_rows_come_first() -> None:
    text = page_of(check(every_mark(), 1)).text
    places = [
        text.index(f"the reason of {name}")
        for name in ("b's score", "c's score", "b's epoch", "c's epoch", "a's score")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("exit_code", OUTCOMES)
def test_an_outcome_has_a_sign_of_its_own(exit_code: int) -> None:
    text = page_of(check([row()], exit_code)).text
    assert OUTCOMES[exit_code].capitalize() in text
    sign = text[text.index(OUTCOMES[exit_code].capitalize()) - 1]
    assert sign == {0: "✓", 1: "✗", 3: "?", 4: "⊘"}[exit_code]


def test_figures_and_what_they_leave_out() -> None:
    page = page_of(check(every_mark(), 1))
    assert len(page.all("svg")) == 4
    assert "Left out, not comparable or without numbers: score of the incumbent of c;" in page.text
    assert "a, score of the incumbent: +3.00, + better." in page.text
    assert "− worse (−20.0)" in page.text, "said where it is too far out to be drawn"
    assert "worse on 0 of 8 seeds" in page.text


def test_all_identical() -> None:
    rows = [identical(name, measure) for name in "ab" for measure in range(3)]
    found = check(rows, identical_cells=16, compared_cells=16)
    text = page_of(found).text
    assert "Every row is identical on every seed." in text
    assert "16 of 16 cells are identical, event by event." in text
    assert "Versions, machine, code and data are the same." in text


def test_nothing_to_compare() -> None:
    rows = [row("a", measure, "x", **NOTHING) for measure in range(3)]
    page = page_of(check(rows, 4, identical_cells=0, compared_cells=0))
    assert page.all("svg") == []
    assert "No row has a difference that can be drawn" in page.text
    assert "No seed has a score of the incumbent both before and now." in page.text
    assert page_of(check([], 4)).all("svg") == []


def test_times_of_another_machine_are_no_change() -> None:
    """They have numbers, and would be drawn beside those that compare."""
    text = page_of(check([row(), row(measure=2, mark="x", difference=-500.0)])).text
    assert "Left out, not comparable or without numbers: searcher's seconds of a." in text


def test_numbers_that_are_none() -> None:
    odd = row("a", 0, "?", values_after=[math.nan, math.inf, *[0.8] * 6], after=math.nan,
              difference=math.nan, low=math.nan, high=math.nan, p_better=math.nan,
              p_worse=math.nan)  # fmt: skip
    one = row("b", 0, "?", seeds=[0], values_before=[0.5], values_after=[0.6], low=math.nan,
              high=math.nan)  # fmt: skip
    page = page_of(check([odd, one], 3))
    assert "nan" not in page.text.lower()


def test_less_is_better() -> None:
    before = row().values_before
    better = row("a", 0, "+", is_higher_better=False, values_after=[v - 0.1 for v in before])
    assert "better on 8, worse on 0 of 8 seeds" in page_of(check([better]), "min").text


def test_many_strategies() -> None:
    names = [f"a-strategy-with-quite-a-long-name/{i:02d}" for i in range(20)]
    rows = [row(name, measure) for name in names for measure in range(3)]
    rows += [row(names[0], 1, "x", **NOTHING)]
    page = page_of(check(rows))
    assert len({r.strategy for r in rows if r.strategy in page.text}) == 20
    # In a figure too, where there is no room for all of a name, it can be told from the others.
    assert {short_in_the_middle(name, 20)[-3:] for name in names} == {n[-3:] for n in names}
    assert all(len(short_in_the_middle(name, 20)) == 20 for name in names)


EVIL = "<script>alert(1)</script>'\"&$x$"


def test_foreign_text_is_shown_not_run() -> None:
    found = check(
        [row(EVIL, 0, "-", reason=EVIL), row(EVIL, 1, "x", **NOTHING)], 1, headline=EVIL,
        baseline=EVIL, run=EVIL, benchmark=EVIL, metric=EVIL,
        first_differences=[FirstDifference(strategy=EVIL, seed=0, trial=1)],
    )  # fmt: skip
    page = page_of(found, machine={EVIL: EVIL}, command=EVIL, versions={EVIL: EVIL})
    assert EVIL in page.text
    assert len(page.all("style")) == 1


def test_what_changed() -> None:
    many = [FirstDifference(strategy="a", seed=seed, trial=3) for seed in range(50)]
    text = page_of(
        check([row()], first_differences=many, compared_cells=60), git_commit="f" * 40,
        git_dirty=True, versions={"ray": "2.61.0"}, machine={"hostname": "another"},
        command="python -m harness check --baseline b.json", created_at="2027-01-01T00:00:00",
    ).text  # fmt: skip
    assert f"And {50 - MAX_FIRST_DIFFERENCES} more" in text
    for part in ("2.60.0", "2.61.0", "f" * 40, "another", "harness check", "2027-01-01",
                 "Uncommitted changes"):  # fmt: skip
        assert part in text


def test_the_same_check_gives_the_same_page() -> None:
    found = check(every_mark(), 1)
    read = CheckRecord.model_validate_json(json.dumps(found.model_dump(mode="json")))
    assert render_check_page(read, *studies()) == render_check_page(found, *studies())


@pytest.mark.parametrize("tone", ["good", "bad", "warn"])
def test_what_is_decided_can_be_read_on_light_and_dark(tone: str) -> None:
    for colours in page_colours():
        assert contrast(colours[tone], colours["paper"]) >= 4.5
        assert contrast(colours[tone], colours[f"{tone}-wash"]) >= 4.5


# Figures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_rows_keep_their_distance(layout: Any) -> None:
    groups = [("one", [("a", ""), ("b", "")]), ("", [("c", "")])]
    with figure_style():
        figure, plot, places = labelled_rows(groups, "x", 1.0, layout)
    height = plot.get_ylim()[0]
    assert places == sorted(places) and places[0] > 0 and places[-1] < height
    # An inch of the axis is about one of the figure.
    assert height < figure.get_figheight() < height + 1


def test_an_interval_far_outside_is_an_arrow() -> None:
    with figure_style():
        _, plot, _ = labelled_rows([("", [("a", "")])], "x", FAR, WIDE)
        before = len(plot.lines)
        draw_interval(plot, 0.1, -30.0, -40.0, -20.0, "#000000", reach=FAR)
        *_, point = plot.lines[before:]
    assert (point.get_marker(), list(point.get_xdata())) == ("<", [-FAR])


def test_one_odd_seed_does_not_hide_the_others() -> None:
    style = strategy_styles(["a"])["a"]
    usual = [0.001 * (i % 5 - 2) for i in range(30)]
    seed = SeedRow("a", "", [*usual, -0.9], 0.001, 0.0, -0.001, 0.001, style)
    assert 0.002 < seed_reach([seed]) < 0.05
    nothing = SeedRow("a", "", [0.0], math.nan, 0.0, math.nan, math.nan, style)
    assert seed_reach([nothing]) > 0


def test_the_page_is_small_enough_to_keep() -> None:
    seeds = list(range(30))
    values = [0.8 + 0.0001 * seed for seed in seeds]
    rows = [
        row(f"s{i}", measure, seeds=seeds, values_before=values,
            values_after=[v + 0.0003 * (j % 7) for j, v in enumerate(values)])
        for i in range(6) for measure in range(3)
    ]  # fmt: skip
    assert len(render_check_page(check(rows), *studies())) < 1_000_000
