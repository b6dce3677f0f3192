"""ASHA's rungs are those of Ray's own scheduler object."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ray.tune.schedulers import AsyncHyperBandScheduler, TrialScheduler

from harness.contract import UsageError
from strategies.asha import asha, comparing_epochs
from tests.strategies.problems import make_problem


@pytest.mark.parametrize(
    ("cap", "factor", "grace", "rungs"),
    [
        (9, 3, 1, (1, 3)),
        (27, 3, 1, (1, 3, 9)),
        (10, 3, 1, (1, 3, 9)),
        (45, 3, 5, (5, 15)),
        (243, 3, 1, (1, 3, 9, 27, 81)),
        (10, 4, 1, (1, 4)),
        (20, 2.5, 1, (1, 3, 7, 16)),
        (2, 3, 1, (1,)),
        (1, 3, 1, ()),
    ],
)
def test_rungs(cap: int, factor: float, grace: int, rungs: tuple[int, ...]) -> None:
    problem = make_problem(max_epochs=cap)
    scheduler, found, settings, _ = asha(problem, grace_epochs=grace, reduction_factor=factor)
    assert found == rungs == tuple(settings["rungs"])
    assert _epochs_compared_by_ray(scheduler, cap) == rungs


def _epochs_compared_by_ray(scheduler: AsyncHyperBandScheduler, cap: int) -> tuple[int, ...]:
    """At each epoch a good trial arrives, then a bad one: compared where the bad one is stopped."""
    good, stopped_at = SimpleNamespace(trial_id="good"), []
    scheduler.on_trial_add(None, good)
    for epoch in range(1, cap):
        result = {"training_iteration": epoch, "accuracy": 1.0}
        assert scheduler.on_trial_result(None, good, result) == TrialScheduler.CONTINUE
        bad = SimpleNamespace(trial_id=f"bad-{epoch}")
        scheduler.on_trial_add(None, bad)
        # It was the best at every rung before, so that only this epoch's can stop it.
        for before in range(1, epoch):
            scheduler.on_trial_result(None, bad, {**result, "training_iteration": before})
        worse = {**result, "accuracy": 0.0}
        if scheduler.on_trial_result(None, bad, worse) == TrialScheduler.STOP:
            stopped_at.append(epoch)
    return tuple(stopped_at)


def test_rounding_loses_no_rung_below_the_cap() -> None:
    """Ray counts its rungs with logarithms; only one at the cap itself is ever lost."""
    for factor in range(2, 11):
        for grace in (1, 2, 3, 5, 7):
            for cap in range(grace + 1, 1000):
                scheduler = AsyncHyperBandScheduler(
                    max_t=cap, grace_period=grace, reduction_factor=factor
                )
                wanted = [grace * factor**k for k in range(10) if grace * factor**k < cap]
                assert comparing_epochs(scheduler, cap) == tuple(wanted), (factor, grace, cap)


def test_ray_still_loses_the_rung_at_243() -> None:
    """Should this fail, Ray has changed how it counts rungs: read ``comparing_epochs`` again."""
    bracket = AsyncHyperBandScheduler(max_t=243, reduction_factor=3)._brackets[0]
    assert [milestone for milestone, _ in bracket._rungs] == [81, 27, 9, 3, 1]


def test_a_cap_on_the_rungs_has_no_warning() -> None:
    for cap in (3, 9, 27, 81, 243):
        assert asha(make_problem(max_epochs=cap))[3] == ()


def test_an_unreachable_rung_is_warned_about() -> None:
    (warning,) = asha(make_problem(max_epochs=10), reduction_factor=4)[3]
    assert "at epochs 1, 4" in warning
    assert "next rung, 16, is beyond the epochs cap of 10" in warning


@pytest.mark.parametrize(("cap", "grace"), [(1, 1), (9, 9)])
def test_asha_that_cannot_act_says_so(cap: int, grace: int) -> None:
    _, rungs, _, warnings = asha(make_problem(max_epochs=cap), grace_epochs=grace)
    assert rungs == ()
    assert "ASHA cannot act" in warnings[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grace_epochs": 0}, "from 1 to the cap 9, not 0"),
        ({"grace_epochs": 10}, "from 1 to the cap 9, not 10"),
        ({"reduction_factor": 1}, "at least 2, not 1"),
    ],
)
def test_settings_out_of_range(settings: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        asha(make_problem(), **settings)
