"""The account of a slot: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.records import KINDS
from harness.ledger import CellLedger, Charge


def seconds_by_kind(ledger: CellLedger) -> dict[str, float]:
    totals: dict[str, float] = {}
    for charge in ledger.charges():
        totals[charge.kind] = totals.get(charge.kind, 0.0) + charge.seconds
    return totals


def test_every_second_of_a_short_life() -> None:
    cell = CellLedger()
    ledger = cell.open_slot()
    ledger.charge_until(0.5, None, "idle")
    ledger.charge_measured(3.0, [Charge(7, "restore", 0.25), Charge(7, "train", 2.0)], 7)
    ledger.charge_until(4.0, 7, "setup")
    assert cell.charges() == [
        Charge(None, "idle", 0.5),
        Charge(7, "restore", 0.25),
        Charge(7, "train", 2.0),
        Charge(7, "idle", 0.25),
        Charge(7, "setup", 1.0),
    ]
    assert cell.trial_seconds(7) == {"restore": 0.25, "train": 2.0, "idle": 0.25, "setup": 1.0}


def test_a_clock_that_measured_too_much_is_scaled_to_what_passed() -> None:
    cell = CellLedger()
    ledger = cell.open_slot()
    ledger.charge_measured(1.0, [Charge(0, "train", 1.5), Charge(0, "evaluate", 0.5)], 0)
    assert seconds_by_kind(cell) == pytest.approx({"train": 0.75, "evaluate": 0.25})


@given(
    st.lists(
        st.tuples(
            st.floats(0, 100),
            st.lists(st.tuples(st.integers(0, 3), st.sampled_from(KINDS), st.floats(0, 50))),
        ),
        max_size=30,
    )
)
def test_the_kinds_sum_to_the_time_that_passed(
    steps: list[tuple[float, list[tuple[int, str, float]]]],
) -> None:
    cell, now = CellLedger(), 0.0
    ledger = cell.open_slot()
    for elapsed, measured in steps:
        now += elapsed
        ledger.charge_measured(now, [Charge(*item) for item in measured], None)  # type: ignore[arg-type]
    assert sum(seconds_by_kind(cell).values()) == pytest.approx(now)


def test_time_never_goes_back() -> None:
    cell = CellLedger()
    ledger = cell.open_slot()
    ledger.charge_until(2.0, 1, "train")
    ledger.charge_until(1.0, 1, "train")
    ledger.charge_until(3.0, 1, "train")
    assert seconds_by_kind(cell) == {"train": 3.0}


def test_a_trial_that_moves_to_another_slot_keeps_its_account() -> None:
    cell = CellLedger()
    one, other = cell.open_slot(), cell.open_slot()
    one.charge_until(2.0, 7, "train")
    other.charge_until(1.0, None, "idle")
    other.charge_until(4.0, 7, "train")
    assert cell.trial_seconds(7) == {"train": 5.0}
    assert cell.charges() == [Charge(7, "train", 5.0), Charge(None, "idle", 1.0)]
