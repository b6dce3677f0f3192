"""Recorded tables as benchmarks: what was recorded comes back, and what cannot work is refused."""

from __future__ import annotations

import dataclasses
import math
import pickle
import shutil
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from benchmarks.recorded.benchmark import SHIPPED_TABLE, FashionMNISTTable
from benchmarks.recorded.table import Curve, RecordedTable, curve_key, read_table, write_table
from benchmarks.registry import make_benchmark, options_of
from benchmarks.space import describe_space
from benchmarks.testing import check_benchmark
from harness.contract import Benchmark, Dataset, HarnessError, Session, UsageError, Worker
from tests.benchmarks.make_table import EPOCHS, SPACE, make_table, record

UNRECORDED = {"lr": 0.0123, "batch_size": 64, "depth": 3, "kind": "a"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "table.parquet"
    write_table(make_table(diverging=True), path)
    return path


def of(path: Path, **options: Any) -> Benchmark:
    return make_benchmark("recorded_table", {"table": str(path), **options})


def session(benchmark: Benchmark) -> Session:
    return benchmark.session(Worker(), benchmark.find_data(None), 0)


def test_the_table_decides_what_is_tuned(path: Path) -> None:
    benchmark = of(path)
    assert (benchmark.metric, benchmark.mode) == ("accuracy", "max")
    assert (benchmark.test_metric, benchmark.loss_metric) == ("test_accuracy", "validation_loss")
    assert benchmark.max_epochs == EPOCHS and of(path, max_epochs="3").max_epochs == 3
    assert benchmark.mutable == {"lr", "batch_size"}
    assert describe_space(benchmark.space(), benchmark.mutable) == SPACE
    options = {"table": str(path), "max_epochs": EPOCHS, "epoch_seconds": None}
    assert options_of(benchmark) == options
    per_epoch = benchmark.epoch_device_seconds("CPU")
    # Each configuration counts once, however many seeds and epochs it has.
    costs: defaultdict[str, list[float]] = defaultdict(list)
    for curve in read_table(path).curves:
        costs[curve_key(curve.config, 0)].extend(
            e.train_seconds + e.evaluate_seconds + e.checkpoint_seconds for e in curve.epochs
        )
    assert per_epoch == pytest.approx(fmean(map(fmean, costs.values())))
    found = benchmark.find_data(None)
    assert found.path == path and len(found.sha256) == 64
    assert "toy" in found.source
    for said in ("(PBT)", "predicted", "processor time"):
        assert sum(said in caveat for caveat in benchmark.caveats) == 1


def test_the_contract_recorded_and_not(path: Path) -> None:
    check_benchmark(of(path), UNRECORDED)
    sound = next(curve for curve in read_table(path).curves if not curve.diverged)
    check_benchmark(of(path), sound.config)


def test_what_was_recorded_comes_back_exactly(path: Path) -> None:
    one = session(of(path))
    for curve in read_table(path).curves:
        config = {name: np.array(value)[()] for name, value in curve.config.items()}
        one.start(config, curve.seed)
        for number, epoch in enumerate(curve.epochs, start=1):
            metrics = {**one.train_epoch(), **one.evaluate()}
            expected = {
                "train_loss": epoch.train_loss,
                "accuracy": epoch.validation_score,
                "test_accuracy": epoch.test_score,
                "validation_loss": epoch.validation_loss,
            }
            assert repr(metrics) == repr(expected)
            cost = one.epoch_cost()
            assert cost is not None
            assert dataclasses.astuple(cost) == (
                epoch.train_seconds,
                epoch.evaluate_seconds,
                epoch.checkpoint_seconds,
                epoch.start_seconds,
                True,
            )
            assert one.state() == {"epoch": number}


def test_a_seed_that_was_not_recorded_is_always_the_same_recorded_one(path: Path) -> None:
    curves = [curve for curve in read_table(path).curves if not curve.diverged]
    config = next(curve.config for curve in curves if curve.seed == 2)
    finals = [c.epochs[-1].validation_score for c in curves if c.config == config]
    one, chosen = session(of(path)), []
    for seed in [*range(3, 40), *range(3, 40)]:
        one.start(config, seed)
        for _ in range(EPOCHS):
            one.train_epoch()
        chosen.append(one.evaluate()["accuracy"])
    assert set(chosen) == set(finals)
    assert chosen[:37] == chosen[37:]


def test_past_a_divergence_all_is_nan_and_costs_go_on(path: Path) -> None:
    curve = next(curve for curve in read_table(path).curves if curve.diverged)
    one = session(of(path))
    one.start(curve.config, curve.seed)
    for epoch in range(1, EPOCHS + 1):
        metrics = {**one.train_epoch(), **one.evaluate()}
        assert all(math.isnan(value) == (epoch >= 3) for value in metrics.values())
        cost = one.epoch_cost()
        assert cost is not None and cost.train == curve.epochs[-1].train_seconds
        assert cost.start == (0.5 if epoch == 1 else 0.0)


def test_what_is_ahead_ends_where_it_diverges(path: Path) -> None:
    curves = read_table(path).curves
    diverged, sound = (next(c for c in curves if c.diverged == is_so) for is_so in (True, False))
    one = session(of(path))
    for curve, cap in ((sound, EPOCHS), (sound, 4), (diverged, EPOCHS), (diverged, 2)):
        scores = [epoch.validation_score for epoch in curve.epochs]
        for trained in range(cap):
            one.start(curve.config, curve.seed)
            one.load({"epoch": trained})
            ahead = one.scores_ahead(cap - trained)
            assert ahead is not None
            assert repr(list(ahead)) == repr(scores[trained:cap] or [math.nan])


def test_another_configuration_goes_on_along_its_own_curve(path: Path) -> None:
    first, second = [c for c in read_table(path).curves if not c.diverged and c.seed == 0][:2]
    one = session(of(path))
    one.start(first.config, 0)
    one.train_epoch()
    state = one.state()
    one.start(second.config, 0)
    one.load(state)
    one.train_epoch()
    assert one.evaluate()["accuracy"] == second.epochs[1].validation_score


def test_what_was_not_measured_is_not_reported(tmp_path: Path) -> None:
    table = make_table(configs=16)
    curves = tuple(
        dataclasses.replace(
            curve,
            epochs=tuple(
                dataclasses.replace(e, validation_loss=None, train_loss=None, test_score=None)
                for e in curve.epochs
            ),
        )
        for curve in table.curves
    )
    write_table(RecordedTable(record(test_metric=None), curves), tmp_path / "table.parquet")
    one = session(of(tmp_path / "table.parquet"))
    for config in (UNRECORDED, curves[0].config):
        one.start(config, 0)
        assert one.train_epoch() == {} and set(one.evaluate()) == {"accuracy"}


# What is refused


def test_options_that_cannot_be(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"needs a table: --benchmark-option table=PATH"):
        make_benchmark("recorded_table", {})
    with pytest.raises(UsageError, match=r"max_epochs must be at most 6, .* not 7"):
        of(path, max_epochs=7)
    with pytest.raises(UsageError, match="greater than or equal to 1"):
        of(path, max_epochs=0)
    with pytest.raises(UsageError, match=r"there is no recorded table .*none\.parquet"):
        of(tmp_path / "none.parquet")


def changed(curve: Curve, **config: Any) -> Curve:
    return dataclasses.replace(curve, config={**curve.config, **config})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lr", 3.0, r"lr = 3.0, which is outside of the table's own space \(from 0.0001 to 1.0\)"),
        ("depth", 5, r"depth = 5, .*from 1.0 to 4.0"),
        ("kind", "c", r"kind = 'c', .*one of \['a', 'b'\]"),
        ("batch_size", True, r"batch_size = True"),
    ],
)
def test_a_configuration_outside_of_the_space(
    name: str, value: Any, message: str, tmp_path: Path
) -> None:
    first, *others = make_table(configs=4).curves
    table = RecordedTable(record(), (changed(first, **{name: value}), *others))
    write_table(table, tmp_path / "table.parquet")
    with pytest.raises(UsageError, match=rf"table\.parquet: curve 0 has {message}"):
        of(tmp_path / "table.parquet").find_data(None)


def test_one_configuration_is_no_choice(tmp_path: Path) -> None:
    write_table(make_table(configs=1, repeat_configs=1), tmp_path / "table.parquet")
    with pytest.raises(UsageError, match=r"1 configuration\(s\).*nothing to choose between"):
        of(tmp_path / "table.parquet").find_data(None)


def test_cpu_and_gpu_seconds_do_not_mix(tmp_path: Path) -> None:
    table = make_table(configs=4)
    (cpu,) = table.record.recordings
    both = table.record.model_copy(
        update={"recordings": [cpu, cpu.model_copy(update={"device_kind": "GPU"})]}
    )
    first, *others = table.curves
    write_table(
        RecordedTable(both, (dataclasses.replace(first, recording=1), *others)),
        tmp_path / "table.parquet",
    )
    with pytest.raises(UsageError, match="recorded on CPU and GPU"):
        of(tmp_path / "table.parquet").find_data(None)


def test_a_table_that_changed_under_a_study(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "table.parquet"
    shutil.copy(path, copy)
    benchmark = of(copy)
    found = benchmark.find_data(None)
    write_table(make_table(configs=4), copy)
    with pytest.raises(HarnessError, match="has changed since the study was started"):
        benchmark.session(Worker(), found, 0)
    copy.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        benchmark.session(Worker(), found, 0)


# The table that ships with the project


def test_a_benchmark_that_is_sent_away_brings_its_table_along(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "table.parquet"
    shutil.copy(path, copy)
    benchmark = of(copy)
    here = session(benchmark)
    sent = pickle.dumps(benchmark)
    copy.unlink()
    away = pickle.loads(sent)
    there = away.session(Worker(), Dataset(copy, "elsewhere", ""), 0)
    config = {name: domain.sample(random_state=3) for name, domain in benchmark.space().items()}
    for one in (here, there):
        one.start(dict(config), 0)
    assert here.train_epoch() == there.train_epoch()
    assert here.evaluate() == there.evaluate()


def test_the_shipped_table_is_fashion_mnists() -> None:
    shipped, original = (
        make_benchmark("fashion_mnist_table", {}),
        make_benchmark("fashion_mnist", {}),
    )
    assert shipped.max_epochs == original.max_epochs == 9
    assert make_benchmark("fashion_mnist_table", {"max_epochs": 16}).max_epochs == 16
    declared = make_benchmark("fashion_mnist_table", {"epoch_seconds": 5.0})
    assert declared.epoch_device_seconds("CPU") == 5.0
    for field in ("metric", "mode", "test_metric", "loss_metric", "mutable"):
        declared = getattr(FashionMNISTTable, field)
        assert getattr(shipped, field) == declared == getattr(original, field), field
    found = shipped.find_data(None)
    assert "fashion_mnist" in found.source and found.path == SHIPPED_TABLE
    config = {"lr": 1e-3, "batch_size": 256, "width": 128, "depth": 2, "dropout": 0.1}
    check_benchmark(shipped, config | {"weight_decay": 1e-3})


def test_a_shipped_table_of_another_space_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.recorded.benchmark.SHIPPED_TABLE", path)
    benchmark = make_benchmark("fashion_mnist_table", {"max_epochs": 2})
    with pytest.raises(UsageError, match="another search space than fashion_mnist's"):
        benchmark.find_data(None)
