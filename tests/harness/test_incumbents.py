"""The incumbent of a cell whose trials may fail: at any moment the best of what counts."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract import Mode
from harness.contract.records import Incumbent
from harness.tuning.incumbent import write_incumbent
from harness.tuning.incumbents import MAX_HELD_STATES, Incumbents
from tests.reports import make_run

TRIALS = "abcdef"
EVENTS = st.one_of(
    st.tuples(st.sampled_from(TRIALS), st.sampled_from([0.0, 1.0, 2.0, 3.0, math.nan, math.inf])),
    st.tuples(st.sampled_from(TRIALS), st.sampled_from(["failed", "finished"])),
)


def fields(trial: str, order: int, score: float) -> dict[str, Any]:
    return make_run.report(TRIALS.index(trial), 1, score, float(order)).model_dump()


@pytest.mark.parametrize("mode", get_args(Mode))
@given(st.lists(EVENTS))
def test_it_is_the_best_of_trials_that_have_not_failed(mode: Mode, events: list[Any]) -> None:
    kept: list[tuple[Incumbent | None, Any]] = []
    incumbents = Incumbents(mode, lambda incumbent, state: kept.append((incumbent, state)))
    counted: list[tuple[str, int, float]] = []
    ended: set[str] = set()
    sign = 1 if mode == "max" else -1
    for order, (trial, what) in enumerate(events):
        if trial in ended:
            continue
        if isinstance(what, str):
            ended.add(trial)
            incumbents.ended(trial, failed=what == "failed")
            if what == "failed":
                counted = [report for report in counted if report[0] != trial]
        else:
            if math.isfinite(what):
                counted.append((trial, order, what))
            is_new = incumbents.report(trial, fields(trial, order, what), state=order)
            best_order = max(counted, key=lambda r: (sign * r[2], -r[1]), default=("", None, 0))[1]
            assert is_new == (best_order == order)
        best = max(counted, key=lambda report: (sign * report[2], -report[1]), default=None)
        if best is None:
            assert incumbents.best is None
            assert not kept or kept[-1] == (None, None)
        else:
            assert incumbents.best is not None
            assert incumbents.best.reported_s == best[1]
            incumbent, state = kept[-1]
            assert incumbent == incumbents.best and state in (best[1], None)


def test_few_weights_are_held_and_the_best_ones() -> None:
    kept: list[Any] = []
    incumbents = Incumbents("max", lambda incumbent, state: kept.append(state))
    for order, trial in enumerate(TRIALS):
        incumbents.report(trial, fields(trial, order, -float(order)), state=trial)
    for trial in TRIALS[:-1]:
        incumbents.ended(trial, failed=True)
    assert kept[:MAX_HELD_STATES] == list(TRIALS[:MAX_HELD_STATES])
    assert kept[MAX_HELD_STATES:] == [None] * (len(TRIALS) - MAX_HELD_STATES)


def test_nothing_of_another_incumbent_is_left(tmp_path: Any) -> None:
    incumbent = Incumbent.model_validate(
        {name: fields("a", 0, 0.5)[name] for name in Incumbent.model_fields}
    )
    write_incumbent(tmp_path, incumbent, b"weights")
    assert {path.name for path in (tmp_path / "incumbent").iterdir()} == {
        "incumbent.json", "state.pt",
    }  # fmt: skip
    write_incumbent(tmp_path, incumbent, None)
    assert [path.name for path in (tmp_path / "incumbent").iterdir()] == ["incumbent.json"]
    write_incumbent(tmp_path, None, None)
    assert not list((tmp_path / "incumbent").iterdir())
