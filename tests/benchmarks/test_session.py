"""Training: sharding is exact, states go on bit for bit, divergence is NaN."""

from __future__ import annotations

import math
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fashion_mnist import data, session
from benchmarks.fashion_mnist.data import Split, Splits
from benchmarks.fashion_mnist.session import FashionMNISTSession
from benchmarks.fashion_mnist.sharding import batches, bounds
from benchmarks.registry import make_benchmark
from benchmarks.testing import check_benchmark
from harness.contract import Dataset, Worker

CONFIG: dict[str, Any] = {
    "lr": 3e-3,
    "batch_size": 257,
    "width": 32,
    "depth": 2,
    "dropout": 0.25,
    "weight_decay": 0.01,
}


def few(dataset: Dataset, data_seed: int) -> Splits:
    """The first of the real images, so that an epoch takes no time."""
    splits = data.load(dataset, data_seed)
    return Splits(
        *(
            Split(split.images[:count], split.labels[:count])
            for split, count in zip(
                (splits.train, splits.validation, splits.test), (2000, 501, 501), strict=True
            )
        )
    )


@pytest.fixture
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "load", few)


@given(st.integers(0, 5000), st.integers(1, 9))
def test_shards_are_a_partition_of_almost_equal_parts(items: int, world_size: int) -> None:
    shards = [bounds(items, rank, world_size) for rank in range(world_size)]
    assert [i for first, last in shards for i in range(first, last)] == list(range(items))
    sizes = [last - first for first, last in shards]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 3000), st.integers(1, 4000))
def test_batches_cover_each_item_once(items: int, batch_size: int) -> None:
    covered = [i for start, stop in batches(items, batch_size) for i in range(start, stop)]
    assert covered == list(range(items))


@pytest.mark.usefixtures("few_images")
@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_the_contract(model: str) -> None:
    check_benchmark(make_benchmark("fashion_mnist", {"model": model}), CONFIG)


@pytest.mark.usefixtures("few_images")
def test_the_configuration_given_wins_over_the_states() -> None:
    first = FashionMNISTSession("mlp", Worker(), data.find(None), 0)
    first.start(CONFIG, 0)
    first.train_epoch()
    state = first.state()
    first.start(CONFIG | {"lr": 0.5, "weight_decay": 0.125, "dropout": 0.5}, 0)
    first.load(state)
    (group,) = first._optimizer.param_groups
    assert (group["lr"], group["weight_decay"]) == (0.5, 0.125)
    assert {m.p for m in first._model.modules() if isinstance(m, torch.nn.Dropout)} == {0.5}


@pytest.mark.usefixtures("few_images")
@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_a_diverged_model_reports_nan(poison: float) -> None:
    diverged = FashionMNISTSession("mlp", Worker(), data.find(None), 0)
    diverged.start(CONFIG, 0)
    with torch.no_grad():
        next(diverged._model.parameters()).fill_(poison)
    metrics = diverged.evaluate()
    assert {"validation_accuracy", "test_accuracy"} < set(metrics)
    assert all(math.isnan(value) for value in metrics.values())


def train(rank: int, world_size: int, port: int, out: Path) -> None:
    session.load = few
    torch.set_num_threads(1)
    if world_size > 1:
        address = f"tcp://127.0.0.1:{port}"
        dist.init_process_group("gloo", address, rank=rank, world_size=world_size)
    trained = FashionMNISTSession("mlp", Worker(rank, world_size), data.find(None), 0)
    trained.start(CONFIG | {"dropout": 0.0}, 0)
    metrics = [{**trained.train_epoch(), **trained.evaluate()} for _ in range(2)]
    torch.save({"metrics": metrics, "model": trained.state()["model"]}, out / f"{rank}.pt")
    if world_size > 1:
        dist.destroy_process_group()


def test_two_workers_train_as_one(tmp_path: Path) -> None:
    """The batch size is the global one, also where it does not divide (257, and a last of 201)."""
    alone, together = tmp_path / "1", tmp_path / "2"
    alone.mkdir()
    together.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for world_size, out in ((1, alone), (2, together)):
        mp.spawn(train, (world_size, port, out), nprocs=world_size)  # type: ignore[attr-defined]
    one, first, second = (
        torch.load(p) for p in (alone / "0.pt", together / "0.pt", together / "1.pt")
    )
    assert first["metrics"] == second["metrics"], "the same numbers on every rank"
    for mine, theirs in zip(one["metrics"], first["metrics"], strict=True):
        assert mine == pytest.approx(theirs, abs=2e-3)
    for name, weights in one["model"].items():
        torch.testing.assert_close(first["model"][name], weights, rtol=1e-3, atol=2e-4)
        assert torch.equal(first["model"][name], second["model"][name])
