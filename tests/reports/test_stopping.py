"""What stopping cost, and how far rungs can be trusted; by hand."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from harness.contract import Mode
from harness.contract.records import Unstopped
from reports.analysis import analyse
from reports.analysis.stopping import rung_signals, stopping_costs, stopping_costs_by_strategy
from reports.page.stopping_signs import stopping_signs
from reports.run import Run
from tests.reports.make_run import Event, end, report, run_of

RUNGS = {"rungs": [1], "max_epochs": 3}


def cell_with_stops(mode: Mode, known: bool = True) -> list[Event]:
    """Trials 0 and 1 run to the cap; 2 and 3 are stopped at the rung, and 3 would have won."""
    sign = 1 if mode == "max" else -1

    def unstopped(score: float) -> Unstopped | None:
        return Unstopped(best=sign * score, last=sign * score) if known else None

    return [
        report(0, 1, sign * 0.5, 1.0, rung=1, is_incumbent=True),
        report(1, 1, sign * 0.4, 2.0, rung=1),
        report(2, 1, sign * 0.3, 3.0, "stop", rung=1),
        report(3, 1, sign * 0.2, 4.0, "stop", rung=1),
        report(0, 3, sign * 0.6, 5.0, "finish", is_incumbent=True),
        report(1, 3, sign * 0.55, 6.0, "finish"),
        end(0, 3, "finished"),
        end(1, 3, "finished"),
        end(2, 1, "stopped", unstopped=unstopped(0.35)),
        end(3, 1, "stopped", unstopped=unstopped(0.7)),
    ]


def run_with_stops(mode: Mode = "max", known: bool = True) -> Run:
    events = cell_with_stops(mode, known)
    return run_of({("random/asha", 0): events}, mode=mode, records=RUNGS)


@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_stopped_trial_that_would_have_won(mode: Mode) -> None:
    (row,) = stopping_costs(run_with_stops(mode)).to_dict("records")
    assert (row["stopped"], row["known"], row["false_stops"]) == (2, 2, 1)
    assert row["regret"] == pytest.approx(0.1)
    assert abs(row["best_with_stopped"]) == 0.7 and abs(row["incumbent"]) == 0.6
    (sums,) = stopping_costs_by_strategy(stopping_costs(run_with_stops(mode))).to_dict("records")
    assert sums["false_stop_rate"] == 0.5 and sums["mean_regret"] == pytest.approx(0.1)


def test_what_is_not_known_is_not_said() -> None:
    (row,) = stopping_costs(run_with_stops(known=False)).to_dict("records")
    assert row["known"] == 0 and math.isnan(row["regret"])
    (sums,) = stopping_costs_by_strategy(stopping_costs(run_with_stops(known=False))).to_dict(
        "records"
    )
    assert math.isnan(sums["false_stop_rate"]) and math.isnan(sums["mean_regret"])


def test_a_cell_without_stops_has_no_row() -> None:
    run = run_of({("random/fifo", 0): [report(0, 1, 0.5, 1.0, "finish")]})
    assert stopping_costs(run).empty
    assert stopping_costs_by_strategy(stopping_costs(run)).empty
    assert rung_signals(run).empty


@pytest.mark.parametrize("mode", get_args(Mode))
def test_the_rank_correlation_of_a_rung(mode: Mode) -> None:
    """Ranks at the rung 1 2 3 4 (trials 0 1 2 3), at the cap 2 3 4 1: d² = 1 + 1 + 1 + 9 = 12, so
    1 − 6 × 12 / (4 × 15) = −0.2."""
    (row,) = rung_signals(run_with_stops(mode)).to_dict("records")
    assert (row["rung"], row["trials"], row["basis"]) == (1, 4, "all")
    assert row["correlation"] == pytest.approx(-0.2)
    # The best at the cap of those that went on was not the worst of them at the rung.
    assert row["near_cutoff"] == 0.0


def test_survivors_alone_where_nothing_more_is_known() -> None:
    (row,) = rung_signals(run_with_stops(known=False)).to_dict("records")
    assert (row["trials"], row["basis"]) == (2, "survivors")
    assert math.isnan(row["correlation"])


def test_the_page_warns_of_a_rung_that_misleads() -> None:
    signs = stopping_signs(analyse(run_with_stops()))
    assert len(signs) == 2
    assert "at epoch 1 the order of the trials says little" in signs[0]
    assert "Try a grace period of 2 epochs, and a FIFO pilot" in signs[0]
    assert "in 1 of 1 cell a stopped trial would have beaten the final incumbent" in signs[1]


def test_the_page_does_not_warn_of_a_good_scheduler() -> None:
    stopped = end(3, 1, "stopped", unstopped=Unstopped(best=0.2, last=0.1))
    events = [*cell_with_stops("max")[:-1], stopped]
    run = run_of({("random/asha", 0): events}, records=RUNGS)
    assert stopping_signs(analyse(run)) == []
    assert rung_signals(run)["correlation"].tolist() == [1.0]
