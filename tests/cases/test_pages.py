"""Cases from the field: what the report says. See README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.analysis import analyse
from reports.analysis.repeats import without_repeats
from reports.build import build_report
from reports.page.notes import caveats, method_notes
from reports.page.stopping_signs import stopping_signs
from reports.units import ComputeUnit
from tests.reports.make_run import cell, end, report, run_of, study, write_cell, write_study


def _page(run: Path) -> str:
    return build_report(run).read_text()


def test_case_13_the_incumbents_epoch_is_shown(tmp_path: Path) -> None:
    """ray#10113: the best score was at epoch 1 of a trial that was stopped later."""
    write_study(tmp_path, study(["random/asha"]))
    events = [
        report(0, 1, 0.9, 10.0, rung=1, is_incumbent=True),
        report(0, 2, 0.4, 20.0),
        report(0, 3, 0.3, 30.0, "stop", rung=3),
        end(0, 3, "stopped"),
    ]
    write_cell(tmp_path, cell("random/asha", rungs=[1, 3]), events)
    assert "<td>0</td><td>1 of 9</td>" in _page(tmp_path), "trial 0, epoch 1"


def _arrivals(scores: list[float], stopped: list[bool]) -> Any:
    """Trials that arrive at rung 1 with these scores; those that go on do so to the cap."""
    events: list[Any] = []
    for trial, (score, is_stopped) in enumerate(zip(scores, stopped, strict=True)):
        decision = "stop" if is_stopped else "continue"
        events.append(report(trial, 1, score, 10.0 * trial + 1, decision, rung=1))
        if is_stopped:
            events.append(end(trial, 1, "stopped"))
        else:
            events.append(report(trial, 9, score, 10.0 * trial + 9, "finish"))
            events.append(end(trial, 9, "finished"))
    return analyse(run_of({("random/asha", 0): events}, records={"rungs": [1, 3]}))


def test_case_14_the_page_says_why_asha_stopped_none() -> None:
    """ray#4401: scores from worst to best."""
    rising = _arrivals([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [False] * 6)
    (sign,) = stopping_signs(rising)
    assert sign.startswith("random/asha stopped none of the 6 trials that it compared at epoch 1.")
    assert "from worst to best" in sign
    falling = _arrivals([0.6, 0.5, 0.4, 0.3, 0.2, 0.1], [False] + [True] * 5)
    assert not any("stopped none" in sign for sign in stopping_signs(falling))


def test_case_18_the_epoch_at_which_each_score_was_told(tmp_path: Path) -> None:
    """ray#5459: Optuna + ASHA tells 1-epoch scores and 9-epoch scores alike."""
    write_study(tmp_path, study(["optuna/asha", "random/asha"]))
    events = [
        report(0, 1, 0.5, 10.0, "stop", rung=1),
        end(0, 1, "stopped", told_score=0.5),
        report(1, 9, 0.6, 20.0, "finish"),
        end(1, 9, "finished", told_score=0.6),
        end(2, 1, "failed", told_score=0.5, retried=True),
        end(2, 1, "failed", told_score=0.5),
        end(3, 2, "cut"),
    ]
    write_cell(tmp_path, cell("optuna/asha"), events)
    write_cell(tmp_path, cell("random/asha"), [report(0, 1, 0.5, 10.0), end(0, 1, "cut")])
    page = _page(tmp_path)
    table = page.split("When searchers were told")[1].split("</table>")[0]
    rows = [row.split("<tr>")[1] for row in table.split("</tr>")[1:-1]]
    assert [row.split("</th>")[1] for row in rows] == [
        "<td>1</td><td>2</td><td>1</td>",
        "<td>9</td><td>1</td><td>0</td>",
    ]


def test_case_24_only_what_holds_is_claimed_of_a_seed() -> None:
    """optuna#4412: the same seed twice on a cluster shares its start, not its order."""
    events = {("optuna/asha", 0): [report(0, 1, 0.5, 10.0)]}
    on_cluster = " ".join(method_notes(analyse(run_of(events))))
    assert "the same start" in on_cluster and "need not give the same trials" in on_cluster
    virtual = analyse(run_of(events, executor="virtual", is_deterministic=True))
    assert "need not give the same trials" not in " ".join(method_notes(virtual))


def _curve(*scores: float, lr: float = 0.1) -> list[Any]:
    return [
        report(0, epoch, score, 10.0 * epoch, config={"lr": lr})
        for epoch, score in enumerate(scores, start=1)
    ]


def test_case_34_seeds_that_give_the_very_same_results() -> None:
    """yahpo_gym#93: noticed before any interval is computed, and no part of any."""
    same, other = _curve(0.1, 0.2, 0.3), _curve(0.1, 0.2, 0.4)
    later = [line.model_copy(update={"reported_s": line.reported_s + 1}) for line in same]
    run = run_of({("a", 0): same, ("a", 1): later, ("a", 2): other, ("b", 0): same})
    analysis = analyse(run)
    assert sorted(analysis.run.cells) == [("a", 0), ("a", 2), ("b", 0)]
    (row,) = [row for row in analysis.standings.itertuples() if row.strategy == "a"]
    assert row.seeds == 2
    lines = caveats(analysis, ComputeUnit.for_budget("CPU", 100.0))
    assert any(line.startswith("a, seed 1: has the very results of seed 0") for line in lines)
    # Another configuration, or too little to tell: seeds of their own.
    another = _curve(0.1, 0.2, 0.3, lr=0.2)
    for cells in ({("a", 0): same, ("a", 1): another}, {("a", 0): same[:2], ("a", 1): same[:2]}):
        distinct = run_of(cells)
        assert without_repeats(distinct) is distinct
