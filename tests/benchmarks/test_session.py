"""Training: states go on bit for bit, two workers train as one, divergence is NaN."""

from __future__ import annotations

import math
import random
import socket
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from benchmarks.fashion_mnist import data, session
from benchmarks.fashion_mnist.data import Split, Splits
from benchmarks.fashion_mnist.session import FashionMNISTSession
from benchmarks.registry import make_benchmark
from benchmarks.testing import check_benchmark
from harness.contract import Dataset, UsageError, Worker

MODELS = ("mlp", "cnn")

CONFIG: dict[str, Any] = {
    "lr": 3e-3,
    "batch_size": 257,
    "width": 32,
    "depth": 2,
    "dropout": 0.25,
    "weight_decay": 0.01,
}


@cache
def few(dataset: Dataset, data_seed: int) -> Splits:
    """The first of the real images, so that an epoch takes no time."""
    splits = data.load(dataset, data_seed)
    return Splits(
        *(
            Split(split.images[:count], split.labels[:count])
            for split, count in zip(
                (splits.train, splits.validation, splits.test), (1000, 251, 251), strict=True
            )
        )
    )


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    try:
        return data.find(data.DEBIAN_DIR)
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine make these small models slow."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "load", few)


@pytest.mark.usefixtures("few_images")
@pytest.mark.parametrize("model", MODELS)
def test_the_contract(model: str, dataset: Dataset) -> None:
    check_benchmark(make_benchmark("fashion_mnist", {"model": model}), CONFIG, dataset)


def forget_the_config(self: FashionMNISTSession, state: Mapping[str, Any]) -> None:
    honest_load(self, state)
    self._optimizer.load_state_dict(state["optimizer"])


def forget_the_random_state(self: FashionMNISTSession, state: Mapping[str, Any]) -> None:
    torch.manual_seed(1)
    self._model.load_state_dict(state["model"])
    self._optimizer.load_state_dict(state["optimizer"])
    self._epoch = state["epoch"]


honest_load, honest_state = FashionMNISTSession.load, FashionMNISTSession.state


@pytest.mark.usefixtures("few_images")
@pytest.mark.parametrize(
    ("method", "broken", "message"),
    [
        ("load", forget_the_config, "the configuration given to start"),
        ("load", forget_the_random_state, r"after state\(\) and load\(\), metrics"),
        ("state", lambda self: {**honest_state(self), "no": Path()}, "more than tensors and plain"),
        ("evaluate", lambda self: {"validation_accuracy": 0.5}, "is not reported"),
        ("evaluate", lambda self: {"validation_accuracy": random.random()}, "same seed again"),
    ],
)
def test_what_the_contract_catches(
    method: str, broken: Any, message: str, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FashionMNISTSession, method, broken)
    with pytest.raises(AssertionError, match=message):
        check_benchmark(make_benchmark("fashion_mnist", {}), CONFIG, dataset)


@pytest.mark.usefixtures("few_images")
def test_the_configuration_given_wins_over_the_states(dataset: Dataset) -> None:
    first = FashionMNISTSession("mlp", Worker(), dataset, 0)
    first.start(CONFIG, 0)
    first.train_epoch()
    state = first.state()
    first.start(CONFIG | {"lr": 0.5, "weight_decay": 0.125, "dropout": 0.5}, 0)
    first.load(state)
    (group,) = first._optimizer.param_groups
    assert (group["lr"], group["weight_decay"]) == (0.5, 0.125)
    assert {m.p for m in first._model.modules() if isinstance(m, torch.nn.Dropout)} == {0.5}


@pytest.mark.usefixtures("few_images")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_a_diverged_model_reports_nan(model: str, poison: float, dataset: Dataset) -> None:
    diverged = FashionMNISTSession(model, Worker(), dataset, 0)
    diverged.start(CONFIG, 0)
    with torch.no_grad():
        next(diverged._model.parameters()).fill_(poison)
    metrics = diverged.evaluate()
    assert {"validation_accuracy", "test_accuracy"} < set(metrics)
    assert all(math.isnan(value) for value in metrics.values())


def trajectory(model: str, worker: Worker, dataset: Dataset) -> dict[str, Any]:
    trained = FashionMNISTSession(model, worker, dataset, 0)
    trained.start(CONFIG | {"dropout": 0.0}, 0)
    metrics = [{**trained.train_epoch(), **trained.evaluate()} for _ in range(2)]
    return {"metrics": metrics, "weights": trained.state()["model"]}


def one_of_two(rank: int, port: int, dataset: Dataset, out: Path) -> None:
    torch.set_num_threads(1)
    session.load = few
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", address, rank=rank, world_size=2)
    done = {model: trajectory(model, Worker(rank, 2), dataset) for model in MODELS}
    torch.save(done, out / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.usefixtures("few_images")
def test_two_workers_train_as_one(dataset: Dataset, tmp_path: Path) -> None:
    """The batch size is the global one, also where it does not divide (257, and a last of 229)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(one_of_two, (port, dataset, tmp_path), nprocs=2)  # type: ignore[attr-defined]
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    for model in MODELS:
        one, two = trajectory(model, Worker(), dataset), first[model]
        assert two["metrics"] == second[model]["metrics"], "the same numbers on every rank"
        for mine, theirs in zip(one["metrics"], two["metrics"], strict=True):
            assert mine == pytest.approx(theirs, abs=4.5e-3)  # one of 251 images
        for name, weights in one["weights"].items():
            torch.testing.assert_close(two["weights"][name], weights, rtol=1e-3, atol=2e-4)
            assert torch.equal(two["weights"][name], second[model]["weights"][name])
