"""The regression check: margins, decisions, baselines, outputs and exit codes."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.check.baseline import (
    Baseline,
    IncomparableError,
    first_difference,
    make_baseline,
    read_baseline,
    refuse_unfit,
    write_baseline,
)
from harness.check.compare import changes, check_same_question, pair_up
from harness.check.decide import Pairs, decide
from harness.check.measures import MEASURES, Margin, as_text, default_margins, parse_margins
from harness.check.outputs import action_benchmark, junit, markdown, workflow_commands
from harness.check.result import make_check
from harness.check.run import looks_of
from harness.contract import Mode, UsageError
from harness.contract.check import FirstDifference
from reports.analysis import analyse
from reports.run import Run
from tests.reports.make_run import end, report, run_of, scored_run

SCORE = MEASURES[0]
NOISE = np.random.default_rng(7).normal(0, 0.001, size=30)


def pairs(change: Any, count: int = 30, mode: Mode = "max", **fields: Any) -> Pairs:
    """``count`` seeds around 0.88, changed by a number or by an array."""
    before = 0.88 + NOISE[:count]
    after = before + (change if np.ndim(change) == 0 else change[:count])
    values: dict[str, Any] = {
        "strategy": "s",
        "measure": SCORE,
        "margin": Margin(0.1, "pt"),
        "mode": mode,
        "seeds": tuple(range(count)),
        "before": tuple(before),
        "after": tuple(after),
    }
    return Pairs(**values | fields)


def mark(row: Pairs) -> str:
    return decide([row])[0].mark


# Margins ----------------------------------------------------------------------------------------


def test_margins() -> None:
    margins = parse_margins(
        ["best_score:0.2pt", "device_hours_to_target:15%", "searcher_seconds:3"]
    )
    assert margins["best_score"] == Margin(0.2, "pt")
    assert margins["best_score"].absolute(0.9) == pytest.approx(0.002)
    assert margins["device_hours_to_target"].absolute(200.0) == pytest.approx(30.0)
    assert margins["searcher_seconds"].absolute(200.0) == 3.0
    assert "epoch_savings" not in margins
    assert parse_margins(as_text(margins)) == margins


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("best_score", "must be NAME:SIZE"),
        ("best_score:", "must be NAME:SIZE"),
        ("best_score:-1pt", "must be NAME:SIZE"),
        ("best_score:1pp", "must be NAME:SIZE"),
        ("best_scor:1pt", "known are best_score"),
        ("best_score:0pt", "must be a number above 0"),
        ("best_score:1.2.3", "must be a number above 0"),
    ],
)
def test_margins_that_do_not_parse(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_margins([text])
    assert caught.value.exit_code == 2


def test_a_margin_given_twice() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_margins(["best_score:1pt", "best_score:2pt"])


# Decisions --------------------------------------------------------------------------------------

SPREAD = np.random.default_rng(8).normal(0, 0.0005, size=30)


@pytest.mark.parametrize(
    ("change", "mode", "expected"),
    [
        (-0.01 + SPREAD, "max", "-"),
        (+0.01 + SPREAD, "max", "+"),
        (+0.01 + SPREAD, "min", "-"),
        (-0.01 + SPREAD, "min", "+"),
        (SPREAD, "max", "~"),
        # Surely worse, but by less than the margin.
        (-0.0005 + SPREAD / 10, "max", "~"),
        # Perhaps much worse, perhaps not.
        (-0.002 + 40 * SPREAD, "max", "?"),
    ],
)
def test_marks(change: Any, mode: Mode, expected: str) -> None:
    assert mark(pairs(change, mode=mode)) == expected


def test_identical_values_are_said_to_be_so() -> None:
    (row,) = decide([pairs(0.0)])
    assert (row.mark, row.is_identical, row.difference) == ("~", True, 0.0)
    assert row.reason == "identical on every seed"


def test_fewer_than_six_pairs_never_pass() -> None:
    (row,) = decide([pairs(-0.5 + SPREAD, count=5)])
    assert row.mark == "?" and "at least 6" in row.reason
    assert mark(pairs(0.0, count=5)) == "?"
    assert mark(pairs(-0.5 + SPREAD, count=6)) == "-"


def test_what_cannot_be_compared_and_what_failed() -> None:
    assert mark(pairs(-0.5, problem="another machine")) == "x"
    assert mark(pairs(0.0, failed="2 cells failed")) == "!"


def test_the_family_is_corrected() -> None:
    """A difference that would count alone does not among a hundred."""
    change = -0.0012 + 2.0 * SPREAD
    alone = decide([pairs(change)])[0]
    among = decide([pairs(change), *[pairs(SPREAD) for _ in range(99)]])[0]
    assert among.p_worse == pytest.approx(min(1.0, 100 * alone.p_worse))


@given(st.floats(-0.02, 0.02), st.floats(0, 0.01))
@settings(max_examples=60, deadline=None)
def test_turning_the_direction_turns_the_mark(shift: float, size: float) -> None:
    change = shift + size * SPREAD / 0.0005
    turned = {"-": "+", "+": "-"}
    one, other = mark(pairs(change, mode="max")), mark(pairs(-change, mode="max"))
    if "-" in (one, other) or "+" in (one, other):
        assert turned.get(one, "") == other or "~" in (one, other) or "?" in (one, other)


# Baselines --------------------------------------------------------------------------------------


def baseline_of(run: Run) -> Baseline:
    return make_baseline(analyse(run))


def scores(shift: float = 0.0, count: int = 8) -> list[float]:
    """Around 0.8, and with a shift that is not quite the same for every seed."""
    uneven = 0.1 * NOISE[::-1] if shift else np.zeros(len(NOISE))
    return [0.8 + shift + float(noise) for noise in (NOISE + uneven)[:count]]


def test_a_baseline_comes_back_as_it_was_written(tmp_path: Path) -> None:
    baseline = baseline_of(scored_run(a=scores(), b=scores(0.01)))
    path = tmp_path / "baselines" / "one.json"
    write_baseline(baseline, path)
    assert read_baseline(path) == baseline
    assert baseline.cells["a"]["0"].best_score == pytest.approx(0.8 + NOISE[0])


@pytest.mark.parametrize(
    ("content", "message", "code"),
    [
        (None, "there is no baseline", 2),
        ("", "is damaged", 2),
        ("{}", "is no baseline", 2),
        ("[]", "is no baseline", 2),
        ('{"format_version": 2}', "format version 2", 4),
        ('{"format_version": 1}', "is damaged", 2),
    ],
)
def test_a_baseline_that_is_none(
    tmp_path: Path, content: str | None, message: str, code: int
) -> None:
    path = tmp_path / "baseline.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        read_baseline(path)
    assert caught.value.exit_code == code


def test_a_baseline_cut_in_half(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(baseline_of(scored_run(a=scores())), path)
    content = path.read_text()
    path.write_text(content[: len(content) // 2])
    with pytest.raises(UsageError, match=r"is damaged \(not whole JSON\)"):
        read_baseline(path)
    path.write_text(content.replace('"best_score": 0.8', '"best_score": "x0.8', 1))
    with pytest.raises(UsageError, match="is damaged"):
        read_baseline(path)


def test_an_unfinished_or_failed_run_is_no_baseline() -> None:
    with pytest.raises(UsageError, match=r"1 of 4 cells are missing, first b, seed 1 \(not run"):
        refuse_unfit(scored_run(a=[0.5, 0.6], b=[0.5, None]))
    run = scored_run(a=[0.5])
    cell = run.cells["a", 0]
    record = cell.record.model_copy(update={"status": "failed", "reason": "boom"})
    failed = dataclasses.replace(run, cells={("a", 0): dataclasses.replace(cell, record=record)})
    with pytest.raises(UsageError, match=r"1 cell\(s\) failed, first a, seed 0: boom"):
        refuse_unfit(failed)


# Comparing --------------------------------------------------------------------------------------


def check(before: Run, after: Run, **settings: Any) -> Any:
    one, other = baseline_of(before), baseline_of(after)
    check_same_question(one, other)
    return make_check(
        decide(pair_up(one, other, default_margins("max"))),
        changes(one, other),
        alpha=0.01,
        looks=[8],
        baseline="b.json",
        run="runs/x",
        **{"inconclusive": "fail", **settings},
    )


def test_the_same_run_is_identical() -> None:
    run = scored_run(a=scores(), b=scores(0.01))
    found = check(run, run)
    assert found.exit_code == 0
    assert found.headline == "No regression. All cells are identical, event by event."
    assert {row.difference for row in found.rows if row.mark == "~"} == {0.0}


def test_a_regression_names_the_strategy() -> None:
    found = check(scored_run(a=scores(), b=scores()), scored_run(a=scores(), b=scores(-0.05)))
    assert (found.exit_code, found.outcome) == (1, "regression")
    assert found.headline.startswith("Regression: b.")


def test_too_few_seeds_are_inconclusive() -> None:
    one = scored_run(a=scores(count=3))
    found = check(one, scored_run(a=scores(-0.05, count=3)))
    assert (found.exit_code, found.outcome) == (3, "inconclusive")
    assert check(one, one, inconclusive="pass").exit_code == 0


def test_strategies_that_only_one_has() -> None:
    found = check(scored_run(a=scores(), old=scores()), scored_run(a=scores(), new=scores()))
    marks = {(row.strategy, row.measure): (row.mark, row.reason) for row in found.rows}
    assert marks["old", "best_score"][0] == "x" and "removed" in marks["old", "best_score"][1]
    assert marks["new", "best_score"][0] == "x" and "new baseline" in marks["new", "best_score"][1]
    # What the baseline has must be compared; what is new cannot have got worse.
    assert (found.exit_code, found.outcome) == (4, "not comparable")
    assert (
        "The run lacks old" in found.headline and "New, not in the baseline: new." in found.headline
    )


def test_cells_that_failed_since() -> None:
    before, after = scored_run(a=scores()), scored_run(a=scores())
    cell = after.cells["a", 3]
    record = cell.record.model_copy(update={"status": "failed", "reason": "out of memory"})
    cells = after.cells | {("a", 3): dataclasses.replace(cell, record=record)}
    found = check(before, dataclasses.replace(after, cells=cells))
    assert {row.mark for row in found.rows} == {"!"}
    assert "1 cell(s) failed that were completed before: out of memory" in found.rows[0].reason
    assert found.exit_code == 1


def test_only_common_seeds_are_paired() -> None:
    found = check(scored_run(a=[*scores(), 0.1]), scored_run(a=scores()))
    assert found.rows[0].pairs == 8


@pytest.mark.parametrize("field", ["budget_device_seconds", "executor"])
def test_another_question_is_not_comparable(field: str) -> None:
    one, other = scored_run(a=scores()), scored_run(a=scores())
    value = {"budget_device_seconds": 7.0, "executor": "virtual"}[field]
    other = dataclasses.replace(other, study=other.study.model_copy(update={field: value}))
    with pytest.raises(IncomparableError, match=field.replace("_", " ")) as caught:
        check(one, other)
    assert caught.value.exit_code == 4


def test_times_of_two_machines_do_not_compare_but_quality_does() -> None:
    one, other = scored_run(a=scores()), scored_run(a=scores(-0.05))
    study = other.study.model_copy(update={"machine": {"hostname": "another"}})
    found = check(one, dataclasses.replace(other, study=study))
    marks = {row.measure: row.mark for row in found.rows}
    assert marks["best_score"] == "-"
    assert marks["useful_share"] == "x" and marks["searcher_seconds"] == "x"


def test_where_decisions_first_differ() -> None:
    def run(decision: str) -> Run:
        events = [
            report(0, 1, 0.5, 1.0, "stop"), end(0, 1, "stopped"),
            report(1, 1, 0.6, 2.0, decision), end(1, 1, "stopped"),
        ]  # fmt: skip
        return run_of({("a", 0): events})

    one, other = baseline_of(run("stop")), baseline_of(run("continue"))
    assert first_difference(one.cells["a"]["0"], other.cells["a"]["0"]) == 1
    assert first_difference(one.cells["a"]["0"], one.cells["a"]["0"]) is None
    assert changes(one, other).first_differences == [FirstDifference(strategy="a", seed=0, trial=1)]


def test_changed_versions_are_named() -> None:
    one, other = scored_run(a=scores()), scored_run(a=scores())
    versions = other.study.versions | {"ray": "2.61.0"}
    study = other.study.model_copy(update={"versions": versions})
    found = check(one, dataclasses.replace(other, study=study))
    assert found.headline.endswith("Versions changed: ray 2.60.0 → 2.61.0.")


def test_looks_double_up_to_what_the_baseline_has() -> None:
    assert looks_of(120, 30, confirm=True) == [30, 60, 120]
    assert looks_of(100, 30, confirm=True) == [30, 60, 100]
    assert looks_of(120, 30, confirm=False) == [30]
    assert looks_of(8, 30, confirm=True) == [8]


# Outputs ----------------------------------------------------------------------------------------

EVIL = "<script>|`x`%\n::error::"


def test_outputs_say_the_same_and_are_escaped() -> None:
    run, worse = scored_run(**{EVIL: scores()}), scored_run(**{EVIL: scores(-0.05)})
    found = check(run, worse)
    text = markdown(found)
    assert "## Search quality: regression" in text
    assert "<script>" not in text and "\n::error::" not in text
    (line,) = [line for line in workflow_commands(found) if "score of the incumbent" in line]
    assert line.startswith("::error title=Search quality::") and "\n" not in line
    suite = ElementTree.fromstring(junit(found))
    assert int(suite.get("failures", "")) == len(suite.findall(".//failure")) > 0
    entries = [
        entry for bigger in (True, False) for entry in json.loads(action_benchmark(found, bigger))
    ]
    assert all({"name", "unit", "value", "range", "extra"} == set(entry) for entry in entries)
    assert all(math.isfinite(entry["value"]) for entry in entries)
