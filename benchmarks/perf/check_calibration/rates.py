"""Checks drawn from pools of cells, and how often they come out how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.perf.check_calibration.pools import MATRIX, Fault
from harness.check.baseline import Baseline, CellNumbers
from harness.check.compare import pair_up
from harness.check.decide import Pairs, decide
from harness.check.measures import DEFAULT_ALPHA, MEASURES, default_margins
from harness.contract.check import CheckRow

Pools = Mapping[str, Baseline]
Cells = dict[str, dict[str, CellNumbers]]

CHECKS, REPETITIONS = 400, 100
SEED_COUNTS = (6, 10, 20, 30)
POWER = 0.8

Row = tuple[str, str]
"""Strategy and measure."""


@dataclass(frozen=True)
class Rates:
    """Shares of checks with at least one row of a mark; ``rows``: of rows, by measure and mark."""

    checks: int
    any_of: dict[str, float]
    rows: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Detection:
    """``caught``: share of checks that call a regression, by number of seeds; ``measures``: share
    of the checks with the most seeds in which a measure showed it; ``effect``: the largest mean
    change for the worse, in margins, by measure, on all seeds of the pools."""

    fault: Fault
    caught: dict[int, float]
    measures: dict[str, float]
    better: float
    effect: dict[str, tuple[str, float]]


def false_alarms(pool: Baseline, seeds: int, checks: int = CHECKS) -> Rates:
    """A strategy against itself on other seeds, all strategies of the pool at once."""
    any_of, rows = Counter[str](), Counter[tuple[str, str]]()
    for before, after in _disjoint(pool, seeds, checks):
        decided = decide(_pairs(pool, before, after))
        any_of.update({row.mark for row in decided})
        rows.update((row.measure, row.mark) for row in decided)
    per_measure = checks * len(pool.cells)
    return Rates(
        checks,
        {mark: count / checks for mark, count in any_of.items()},
        {
            m.name: {mark: n / per_measure for (name, mark), n in rows.items() if name == m.name}
            for m in MEASURES
        },
    )


def detection(fault: Fault, pools: Pools) -> Detection:
    """The faulty strategies on the healthy ones' seeds; the other strategies are as they were."""
    healthy, faulty = pools[fault.healthy], pools[fault.faulty]
    common = sorted(set(healthy.study.seeds) & set(faulty.study.seeds))
    caught: dict[int, float] = {}
    measures, better = Counter[str](), 0
    for seeds in SEED_COUNTS:
        generator = np.random.default_rng(seeds)
        alarms = 0
        for _ in range(REPETITIONS):
            drawn = [str(seed) for seed in generator.choice(common, seeds, replace=False)]
            decided = decide(_fault_pairs(fault, healthy, faulty, drawn))
            worse = {row.measure for row in decided if row.mark in "-!"}
            alarms += bool(worse)
            if seeds == SEED_COUNTS[-1]:
                measures.update(worse)
                better += not worse and any(row.mark == "+" for row in decided)
        caught[seeds] = alarms / REPETITIONS
    everything = decide(_fault_pairs(fault, healthy, faulty, [str(seed) for seed in common]))
    return Detection(
        fault,
        caught,
        {name: count / REPETITIONS for name, count in measures.items()},
        better / REPETITIONS,
        _worst_effects(everything),
    )


def _worst_effects(rows: Sequence[CheckRow]) -> dict[str, tuple[str, float]]:
    found: dict[str, tuple[str, float]] = {}
    for row in rows:
        size = row.difference / row.margin if row.margin else 0.0
        if size < found.get(row.measure, ("", 0.0))[1]:
            found[row.measure] = row.strategy, size
    return found


def smallest_effects(pool: Baseline, seeds: int, checks: int = CHECKS) -> dict[Row, float]:
    """By strategy and measure, the loss in the measure's own unit that 80 % of checks call when
    everything ran on other seeds and this alone got worse: a loss that is added to every pair
    leaves their spread, so that what a check needs of it follows from the rule in
    :mod:`harness.check.decide`, at the first step of Holm's correction."""
    needed: dict[Row, list[float]] = {}
    for before, after in _disjoint(pool, seeds, checks):
        rows = [row for row in _pairs(pool, before, after) if row.problem is None]
        for row, decided in zip(rows, decide(rows), strict=True):
            critical = stats.t.isf(DEFAULT_ALPHA / len(rows), seeds - 1)
            spread = np.std(np.subtract(row.after, row.before), ddof=1) / np.sqrt(seeds)
            called_from = max(decided.margin, critical * spread)
            needed.setdefault((row.strategy, row.measure.name), []).append(
                decided.difference + called_from
            )
    return {row: float(np.quantile(losses, POWER)) for row, losses in needed.items()}


def _disjoint(pool: Baseline, seeds: int, checks: int) -> Iterator[tuple[list[str], list[str]]]:
    generator = np.random.default_rng(seeds)
    everything = [str(seed) for seed in pool.study.seeds]
    for _ in range(checks):
        drawn = [str(seed) for seed in generator.permutation(everything)[: 2 * seeds]]
        yield drawn[:seeds], drawn[seeds:]


def _pairs(pool: Baseline, before: Sequence[str], after: Sequence[str]) -> list[Pairs]:
    """A check of a pool against itself on other seeds, which are paired as they come."""
    return pair_up(
        _with(pool, {name: _picked(cells, before) for name, cells in pool.cells.items()}),
        _with(pool, {name: _picked(cells, after) for name, cells in pool.cells.items()}),
        default_margins(pool.study.benchmark.mode),
    )


def _fault_pairs(
    fault: Fault, healthy: Baseline, faulty: Baseline, seeds: Sequence[str]
) -> list[Pairs]:
    """A check of a matrix in which the faulty strategies are put in the place of healthy ones."""
    matrix = {
        name: _picked(cells, seeds)
        for name, cells in healthy.cells.items()
        if name in MATRIX or name in fault.strategies
    }
    planted = {name: _picked(faulty.cells[bad], seeds) for name, bad in fault.strategies.items()}
    return pair_up(
        _with(healthy, matrix),
        _with(healthy, {**matrix, **planted}),
        default_margins(healthy.study.benchmark.mode),
    )


def _picked(cells: Mapping[str, CellNumbers], seeds: Sequence[str]) -> dict[str, CellNumbers]:
    """These seeds' cells, numbered from 0 on."""
    return {str(number): cells[seed] for number, seed in enumerate(seeds)}


def _with(pool: Baseline, cells: Cells) -> Baseline:
    return pool.model_copy(update={"cells": cells})
