"""Scores worth reaching: in order, within reach, and the same for a benchmark and its table."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.describe import describe_benchmark
from benchmarks.recorded.table import Curve, RecordedTable, write_table
from benchmarks.recorded.targets import recorded_targets
from benchmarks.registry import make_benchmark
from benchmarks.testing import check_benchmark
from harness.contract import Benchmark, Dataset, Mode, Worker
from harness.contract.records import BenchmarkRecord
from tests.benchmarks.make_table import EPOCHS, make_table, record
from tests.harness.virtual_toys import Clockwork, ClockworkMin

ANALYTIC = ("noisy_quadratic", "slow_starters", "hartmann_power_law", "conditional_space")
DATA = Dataset(path=None, source="generated", sha256="")


def described(benchmark: Benchmark, targets: list[float] | None = None) -> BenchmarkRecord:
    return describe_benchmark(benchmark, DATA, 0, targets)


@pytest.mark.parametrize("name", ANALYTIC)
def test_shares_of_random_configurations_that_reach_an_analytic_target(name: str) -> None:
    benchmark, count = make_benchmark(name, {}), 150
    sign = 1.0 if benchmark.mode == "max" else -1.0
    random_state = np.random.RandomState(1)
    space: dict[str, Any] = benchmark.space()
    one, best = benchmark.session(Worker(), DATA, 0), []
    for seed in range(count):
        config = {name: domain.sample(random_state=random_state) for name, domain in space.items()}
        one.start(config, seed)
        curve = [(one.train_epoch(), one.evaluate())[1] for _ in range(benchmark.max_epochs)]
        scores = [sign * metrics[benchmark.metric] for metrics in curve]
        best.append(max(filter(math.isfinite, scores), default=-math.inf))
    for target, share in zip(benchmark.targets, (0.5, 0.2, 0.05, 0.01), strict=True):
        reached = sum(score >= sign * target for score in best) / count
        sd = math.sqrt(share * (1 - share) / count)
        assert abs(reached - share) < 3 * sd, f"{reached:.1%} reach {target}, not {share:.0%}"


def test_fashion_mnist_and_its_table_have_the_same() -> None:
    original, table = (make_benchmark(n, {}) for n in ("fashion_mnist", "fashion_mnist_table"))
    assert original.targets == table.targets == (0.85, 0.87, 0.88, 0.885)
    assert make_benchmark("fashion_mnist", {"model": "cnn"}).targets == ()


@pytest.mark.parametrize(
    ("benchmark_", "expected"),
    [(Clockwork(), [0.25, 0.5, 1.0]), (ClockworkMin(), [1.0, 0.5, 0.25])],
)
def test_the_easiest_comes_first(benchmark_: Benchmark, expected: list[float]) -> None:
    assert described(benchmark_, [0.5, 1.0, 0.25]).targets == expected
    assert described(benchmark_).targets == []


# Of a recorded table


def flat(score: float, seed: int, like: Curve) -> Curve:
    """A curve whose best score comes before the cap; ``like`` gives its configuration."""
    shape = [score - 1, score, *[score - 0.5] * (EPOCHS - 2)]
    epochs = tuple(
        dataclasses.replace(epoch, validation_score=value)
        for epoch, value in zip(like.epochs, shape, strict=True)
    )
    return Curve(like.config, seed, 0, epochs)


def upside_down(curve: Curve) -> Curve:
    epochs = [dataclasses.replace(e, validation_score=-e.validation_score) for e in curve.epochs]
    return dataclasses.replace(curve, epochs=tuple(epochs))


def table_of(scores: list[float], mode: Mode, *more: Curve) -> RecordedTable:
    points = make_table(configs=len(scores), repeat_configs=0).curves
    curves = [
        *(flat(score, 0, point) for score, point in zip(scores, points, strict=True)),
        # A lucky seed of the worst configuration makes no target: its mean counts.
        flat(3 * len(scores), 1, points[0]),
        flat(-3 * len(scores), 2, points[0]),
    ]
    if mode == "min":
        curves = [upside_down(curve) for curve in curves]
    return RecordedTable(record(mode=mode), (*curves, *more))


@pytest.mark.parametrize(("mode", "sign"), [("max", 1), ("min", -1)])
def test_recorded_targets_by_hand(mode: Mode, sign: int) -> None:
    """40 configurations that reach 1 to 40 (less is better: −1 to −40)."""
    table = table_of([float(score) for score in range(1, 41)], mode)
    assert recorded_targets(table, EPOCHS) == tuple(sign * t for t in (21.0, 33.0, 39.0, 40.0))
    # Within one epoch, all is worse by 1.
    assert recorded_targets(table, 1) == tuple(sign * t for t in (20.0, 32.0, 38.0, 39.0))


def test_few_configurations_or_diverged_ones_give_fewer_targets() -> None:
    sound = make_table(configs=4, repeat_configs=0).curves
    nothing = [
        Curve(c.config, 0, 0, (dataclasses.replace(c.epochs[0], validation_score=math.nan),))
        for c in sound[1:]
    ]
    table = RecordedTable(record(), (flat(0.5, 0, sound[0]), *nothing))
    assert recorded_targets(table, EPOCHS) == (0.5,)
    assert recorded_targets(table_of([1.0, 2.0, 3.0], "max"), EPOCHS) == (2.0, 3.0)


def test_a_table_gives_its_benchmark_targets_up_to_its_cap(tmp_path: Path) -> None:
    table = make_table()
    write_table(table, tmp_path / "table.parquet")
    for cap in (EPOCHS, 2):
        benchmark = make_benchmark(
            "recorded_table", {"table": str(tmp_path / "table.parquet"), "max_epochs": cap}
        )
        assert benchmark.targets == recorded_targets(table, cap)
        assert described(benchmark).targets == list(benchmark.targets)


# Of somebody else


@pytest.mark.parametrize("wrong", [(math.nan,), (0.5, math.inf), (0.5, 0.5)])
def test_the_contract_refuses(wrong: tuple[float, ...]) -> None:
    class Wrong(Clockwork):
        targets = wrong

    with pytest.raises(AssertionError, match="targets must"):
        check_benchmark(Wrong(), {"x": 0.5, "fault": "none"})
