"""Who is ahead, what can be claimed, and the differences between strategies."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract import Mode
from reports.analysis import Analysis, analyse
from reports.analysis.comparisons import turned
from reports.analysis.ranking import areas_by_cell
from tests.reports.make_run import report, run_of, scored_run


def standing(analysis: Analysis) -> pd.DataFrame:
    return analysis.standings.set_index("strategy")


@pytest.mark.parametrize(
    ("mode", "best", "second", "gap"), [("max", "b", "a", 0.2), ("min", "c", "a", 0.1)]
)
def test_the_verdict_follows_the_mode(mode: Mode, best: str, second: str, gap: float) -> None:
    run = scored_run(mode, a=[0.5, 0.7], b=[0.8, 0.8], c=[0.4, 0.6], d=[0.9, None], e=[None, None])
    found = analyse(run)
    verdict = found.verdict
    assert (verdict.best, verdict.runner_up, verdict.seeds) == (best, second, 2)
    assert verdict.difference == pytest.approx(gap)
    # The single seed of d and the failure of e do not compare, however good the seed.
    assert verdict.left_out == ("d", "e")
    assert found.standings["strategy"].tolist()[3:] == ["d", "e"]
    assert standing(found).loc["a", ["test_low", "test_high"]].tolist() == [0.5, 0.7]


def test_equal_scores_are_a_tie() -> None:
    verdict = analyse(scored_run(a=[0.5], b=[0.5], c=[0.4])).verdict
    assert (verdict.best, verdict.runner_up, verdict.difference) == ("a", "b", 0.0)
    assert verdict.ties == ("b", "c")


def test_nobody_wins_without_a_score() -> None:
    verdict = analyse(run_of({}, ["a", "b"], [0])).verdict
    assert (verdict.best, verdict.left_out) == (None, ("a", "b"))
    assert math.isnan(verdict.score)


NOISE = [0.001, -0.002, 0.003, -0.001, 0.002, -0.003, 0.0, 0.001]


def test_what_lies_clearly_ahead_is_told_apart() -> None:
    scores = [0.5 + x for x in NOISE]
    run = scored_run(
        a=scores, b=[s + 0.2 + n / 9 for s, n in zip(scores, reversed(NOISE), strict=True)],
        c=[s + 0.2 for s in scores],
    )  # fmt: skip
    found = analyse(run)
    assert found.verdict.best in ("b", "c")
    assert "a" not in found.verdict.ties
    row = turned(found.comparisons, "c", "a")
    assert row["difference"] == pytest.approx(0.2)
    assert row["is_told_apart"] and row["improvement"] == 1.0
    # The difference is the same on every seed: the sign test's 2 / 2^8, times the 3 pairs at most.
    assert row["p_value"] == pytest.approx(2 / 2**8)
    assert row["p_value"] <= row["p_holm"] <= 3 * row["p_value"]


def test_with_five_seeds_nothing_is_claimed() -> None:
    found = analyse(scored_run(a=[0.5 + x for x in NOISE[:5]], b=[0.9 + x for x in NOISE[:5]]))
    assert found.verdict.ties == ("a",)
    assert not found.comparisons["is_told_apart"].any()


def test_differences_are_over_the_seeds_that_both_have() -> None:
    found = analyse(scored_run(a=[0.5, 0.6, None], b=[None, 0.7, 0.9], c=[0.1, 0.2, 0.3]))
    row = turned(found.comparisons, "b", "a")
    assert (row["pairs"], row["difference"]) == (1, pytest.approx(0.1))
    assert math.isnan(row["p_value"]) and math.isnan(row["p_holm"])


def test_turning_a_comparison_twice_gives_it_back() -> None:
    found = analyse(scored_run(a=[0.5, 0.6, 0.8], b=[0.55, 0.7, 0.2]))
    there = turned(found.comparisons, "a", "b")
    back = turned(pd.DataFrame([turned(found.comparisons, "b", "a")]), "a", "b")
    for name, value in there.items():
        assert back[name] == pytest.approx(value), name


def test_mean_ranks_put_the_missing_last() -> None:
    # Seed 0: b 1, a 2, c missing = 3. Seed 1: a and b share 1.5, c 3.
    found = analyse(scored_run(a=[0.5, 0.6], b=[0.7, 0.6], c=[None, 0.1]))
    assert standing(found)["mean_rank"].to_dict() == {"b": 1.25, "a": 1.75, "c": 3.0}


def test_areas_are_over_the_stretch_that_all_have() -> None:
    """Seed 0 from 40, when b has its first score, to the budget of 100."""
    run = run_of(
        {
            ("a", 0): [report(0, 1, 0.2, 10.0), report(0, 2, 0.5, 70.0)],
            ("b", 0): [report(0, 1, 0.4, 40.0)],
            ("a", 1): [report(0, 1, 0.3, 20.0)],
        }
    )
    found = analyse(run)
    areas = areas_by_cell(run, found.steps).set_index(["strategy", "seed"])["area"]
    assert areas["a", 0] == pytest.approx((0.2 * 30 + 0.5 * 30) / 60)
    assert areas["b", 0] == pytest.approx(0.4)
    assert areas["a", 1] == pytest.approx(0.3)
    assert standing(found).loc["a", "area"] == pytest.approx((0.35 + 0.3) / 2)


def test_effects_are_pairs_that_differ_in_one_part() -> None:
    names = ["random/fifo", "optuna/asha", "random/asha", "hyperopt/fifo"]
    run = scored_run(**{name: [0.5 + 0.1 * i, 0.6 + 0.1 * i] for i, name in enumerate(names)})
    effects = analyse(run).effects
    found = {
        (row.effect, row.held_fixed, row.other, row.strategy): row.difference
        for row in effects.itertuples()
    }
    assert found == {
        ("scheduler", "random", "random/fifo", "random/asha"): pytest.approx(0.2),
        ("searcher", "asha", "random/asha", "optuna/asha"): pytest.approx(-0.1),
        ("searcher", "fifo", "random/fifo", "hyperopt/fifo"): pytest.approx(0.3),
    }


def test_a_lower_loss_is_a_gain() -> None:
    run = scored_run("min", **{"random/fifo": [0.5, 0.6], "random/asha": [0.4, 0.4]})
    (row,) = analyse(run).effects.itertuples()
    assert (row.strategy, row.difference, row.improvement) == (
        "random/asha", pytest.approx(0.15), 1.0,
    )  # fmt: skip


scores = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=2, max_size=9)


@given(scores, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_verdict_does_not_depend_on_the_order_of_strategies(
    values: list[float], random: np.random.Generator
) -> None:
    table = {
        name: [v * factor for v in values] for name, factor in zip("abc", (1, 2, 3), strict=True)
    }
    names = list(table)
    random.shuffle(names)
    one, other = analyse(scored_run(**table)), analyse(scored_run(**{n: table[n] for n in names}))
    assert one.verdict.best == other.verdict.best == "c"
    assert set(one.verdict.ties) == set(other.verdict.ties)
    assert one.verdict.difference == pytest.approx(other.verdict.difference)
