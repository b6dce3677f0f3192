"""Validation against test, and retrainings; by hand."""

from __future__ import annotations

import dataclasses
import math

import pytest

from harness.contract.records import Retraining, RetrainRecord
from reports.analysis import analyse
from reports.run import Run
from tests.reports.make_run import scored_run


def retrained(run: Run, *scores: tuple[float, float] | None) -> Run:
    """The run with these (validation, test) scores as retrainings of a's seed 0."""
    record = RetrainRecord(
        trial=0,
        epoch=1,
        retrainings=[
            Retraining(seed=9 + i, validation_score=None, test_score=None, reason="it broke")
            if score is None
            else Retraining(seed=9 + i, validation_score=score[0], test_score=score[1])
            for i, score in enumerate(scores)
        ],
    )
    cell = dataclasses.replace(run.cells["a", 0], retrained=record)
    return dataclasses.replace(run, cells=run.cells | {("a", 0): cell})


def test_picking_by_validation_promises_too_much() -> None:
    found = analyse(scored_run(a=[0.5, 0.7], b=[0.6, 0.6]))
    # In scored_run validation is 0.01 above the test score.
    assert found.optimism["optimism"].tolist() == pytest.approx([0.01] * 4)
    assert found.optimism["retrained"].tolist() == [0, 0, 0, 0]
    by_strategy = found.optimism_by_strategy.set_index("strategy")
    assert by_strategy.loc["a", "test"] == pytest.approx(0.6)
    assert math.isnan(by_strategy.loc["a", "lucky"])


def test_a_lower_loss_in_validation_is_optimism_too() -> None:
    found = analyse(scored_run("min", a=[0.5]))
    assert found.optimism["optimism"].tolist() == pytest.approx([-0.01])


def test_retrainings_show_the_luck_of_the_pick() -> None:
    run = retrained(scored_run(a=[0.5, 0.7]), (0.5, 0.4), (0.6, 0.46), None)
    found = analyse(run)
    row = found.optimism.iloc[0]
    assert row["retrained"] == 2
    assert row["retrained_test"] == pytest.approx(0.43)
    assert row["retrained_test_sd"] == pytest.approx(0.06 / math.sqrt(2))
    (own,) = found.optimism_by_strategy.to_dict("records")
    assert own["lucky"] == pytest.approx(0.5 - 0.43)
