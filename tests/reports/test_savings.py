"""Epoch savings and rungs, against numbers counted by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.analysis import synchronous_ideal
from reports.analysis.frames import report_columns, reports_frame, trials_frame
from reports.analysis.savings import (
    STATUSES,
    epochs_by_cell,
    ideal_by_strategy,
    rung_table,
    savings_by_strategy,
)
from reports.run import Run
from reports.store import read_run
from tests.reports.make_run import cell, end, report, study, write_cell, write_study


def test_the_ideal_of_100_trials() -> None:
    ideal = synchronous_ideal(100, 5, 3, 45)
    assert ideal.rungs == ((5, 100), (15, 33), (45, 11))
    assert ideal.epochs_run == 100 * 5 + 33 * 10 + 11 * 30 == 1160
    assert ideal.epochs_full == 4500


@pytest.mark.parametrize(
    ("arguments", "rungs"),
    [
        ((5, 1, 3, 9), ((1, 5), (3, 1), (9, 1))),
        ((0, 1, 3, 9), ((1, 0), (3, 0), (9, 0))),
        ((9, 20, 3, 9), ((9, 9),)),
        ((10, 1, 4, 10), ((1, 10), (4, 2), (10, 1))),
        ((10, 1, 1.5, 3), ((1, 10), (2, 6), (3, 4))),
    ],
)
def test_ideals_of_other_shapes(arguments: tuple, rungs: tuple) -> None:
    assert synchronous_ideal(*arguments).rungs == rungs


def test_an_impossible_ideal_is_refused() -> None:
    with pytest.raises(ValueError, match="factor > 1"):
        synchronous_ideal(10, 1, 1, 9)


def epochs(trial: int, last: int, decision: str, first: int = 1, **fields: object) -> list:
    held = 10.0 * trial
    return [
        report(trial, e, 0.5, held + e, decision if e == last else "continue", **fields)
        for e in range(first, last + 1)
    ]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """ASHA with rungs 1 and 3 under a cap of 9: one trial of every kind, one retried."""
    write_study(tmp_path, study(["random/asha", "none"], [0, 1]))
    events = [
        *epochs(0, 1, "stop"), end(0, 1, "stopped"),
        *epochs(1, 3, "stop"), end(1, 3, "stopped"),
        *epochs(2, 9, "finish"), end(2, 9, "finished"),
        # Epoch 2 is trained again after the failure.
        *epochs(3, 2, "continue"), end(3, 2, "failed", retried=True, reason="hiccup"),
        *epochs(3, 4, "continue", first=2, attempt=1), end(3, 4, "failed", attempt=1, reason="x"),
        *epochs(4, 3, "diverged"), end(4, 3, "diverged"),
        # Cut right after its promotion at the rung: in the next stretch.
        *epochs(5, 3, "continue"), end(5, 3, "cut"),
        end(6, 0, "failed", reason="at once"),
    ]  # fmt: skip
    settings = {"reduction_factor": 3}
    write_cell(tmp_path, cell("random/asha", 0, rungs=[1, 3], settings=settings), events)
    stopped = [*epochs(0, 1, "stop"), end(0, 1, "stopped")]
    write_cell(tmp_path, cell("random/asha", 1, rungs=[1, 3], settings=settings), stopped)
    write_cell(tmp_path, cell("none", 0), [])
    return read_run(tmp_path)


def test_epochs_by_hand(run: Run) -> None:
    first, second = epochs_by_cell(trials_frame(run)).to_dict("records")
    # Reports: 1 + 3 + 9 + (2 + 3) + 3 + 3 + 0; stopped trials had 8 and 6 epochs to go.
    assert first == {
        "strategy": "random/asha", "seed": 0, "trials": 7, "epochs_run": 24, "epochs_saved": 14,
        "epochs_cap": 63, "stopped": 2, "finished": 1, "failed": 2, "diverged": 1, "cut": 1,
        "epochs_full": 38, "epoch_savings": pytest.approx(14 / 38),
        "epochs_of_cap": pytest.approx(24 / 63),
        # The ledger charges trial 0 with 90 for its one epoch, of nine.
        "device_seconds_run": 90.0, "device_seconds_saved": pytest.approx(720.0),
        "device_savings": pytest.approx(720 / 810),
    }  # fmt: skip
    assert (second["epochs_run"], second["epochs_full"]) == (1, 9)
    (both,) = savings_by_strategy(epochs_by_cell(trials_frame(run))).to_dict("records")
    assert (both["epochs_run"], both["epochs_full"]) == (25, 47)
    assert both["epoch_savings"] == pytest.approx(22 / 47)
    assert both["epochs_of_cap"] == pytest.approx(25 / 72)


def test_rungs_by_hand(run: Run) -> None:
    table = rung_table(run, trials_frame(run), reports_frame(report_columns(run)))
    columns = ["after", "rung", "entered", "promoted", *STATUSES, "epochs_run", "epochs_saved"]
    asha = table.loc[table["strategy"] == "random/asha", columns]
    #    after rung entered promoted stopped finished failed diverged cut run saved
    assert asha.to_numpy().tolist() == [
        [0, 1, 8, 5, 2, 0, 1, 0, 0, 7, 0],
        [1, 3, 5, 3, 1, 0, 0, 1, 0, 11, 4],
        [3, 9, 3, 0, 0, 1, 1, 0, 1, 7, 18],
    ]
    none = table.loc[table["strategy"] == "none", columns]
    assert none.to_numpy().tolist() == [[0, 9, *[0] * 9]]


def test_the_ideal_stands_beside_the_strategies_with_rungs(run: Run) -> None:
    (row,) = ideal_by_strategy(run, epochs_by_cell(trials_frame(run))).to_dict("records")
    # 7 trials: 7 × 1 + 2 × 2 + 1 × 6; 1 trial: it runs to the cap.
    assert (row["strategy"], row["epochs_run"], row["epochs_full"]) == ("random/asha", 26, 72)


TRIALS = st.lists(
    st.tuples(st.sampled_from(STATUSES), st.integers(0, 12), st.integers(0, 20)), max_size=20
)


@settings(deadline=None, max_examples=40)
@given(TRIALS)
def test_savings_are_a_share(trials: list[tuple[str, int, int]]) -> None:
    frame = pd.DataFrame(
        [
            {
                "strategy": "s", "seed": 0, "trial": i, "status": status, "last_epoch": last,
                "epochs_run": run, "max_epochs": 9, "device_seconds": 2.0 * run,
            }
            for i, (status, last, run) in enumerate(trials)
        ],
        columns=[
            "strategy", "seed", "trial", "status", "last_epoch", "epochs_run", "max_epochs",
            "device_seconds",
        ],
    )  # fmt: skip
    found = epochs_by_cell(frame)
    assert found["epoch_savings"].between(0, 1, inclusive="left").all()
    assert found["device_savings"].between(0, 1, inclusive="left").all()
    assert (found["epochs_full"] >= found["epochs_run"]).all()


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(1, 10), st.integers(2, 5), st.integers(1, 100))
def test_an_ideal_never_costs_more_than_completion(
    trials: int, grace: int, factor: int, cap: int
) -> None:
    ideal = synchronous_ideal(trials, grace, factor, cap)
    assert ideal.epochs_run <= ideal.epochs_full
    reached = [count for _, count in ideal.rungs]
    assert reached == sorted(reached, reverse=True)
