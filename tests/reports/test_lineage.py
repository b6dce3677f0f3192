"""Which epochs a report's weights went through."""

from __future__ import annotations

import pytest

from harness.contract.records import Parent
from reports.analysis.lineage import lineage
from tests.reports.make_run import report


def test_a_trial_of_its_own() -> None:
    reports = [report(0, 1, 0.1, 1), report(1, 1, 0.2, 2), report(0, 2, 0.3, 3)]
    assert lineage(reports, 0, 2) == [reports[0], reports[2]]


def test_through_an_exploited_trial_and_back() -> None:
    """Trial 0 goes back to trial 1's epoch 2, and trains its own epochs 3 and 4 anew."""
    reports = [
        report(0, 1, 0.1, 1),
        report(1, 1, 0.2, 2),
        report(0, 2, 0.1, 3),
        report(1, 2, 0.4, 4),
        report(0, 3, 0.2, 5),
        report(0, 3, 0.5, 7, parent=Parent(trial=1, epoch=2)),
        report(0, 4, 0.6, 8),
    ]
    assert lineage(reports, 0, 4) == [reports[1], reports[3], reports[5], reports[6]]
    assert lineage(reports, 1, 2) == [reports[1], reports[3]]


def test_a_parent_that_goes_on_after_it_was_exploited() -> None:
    """What the parent's epoch was when the child began counts, not what it became later."""
    reports = [
        report(1, 1, 0.2, 2),
        report(0, 2, 0.5, 5, parent=Parent(trial=1, epoch=1)),
        report(1, 1, 0.9, 6),
    ]
    assert lineage(reports, 0, 2) == [reports[0], reports[1]]


def test_an_epoch_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        lineage([report(0, 2, 0.5, 5)], 0, 2)
