"""What every benchmark must keep to, as a function to call in your own tests."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.space import describe_space
from harness.contract import Benchmark, Config, Dataset, Session, Worker

EPOCHS, SPLIT_AT, SEED = 3, 2, 11


def check_benchmark(benchmark: Benchmark, config: Config, dataset: Dataset | None = None) -> None:
    """Train ``config`` (a sound one) for a few epochs in this process, one worker, on the CPU.

    Raises:
        AssertionError: the metadata contradict each other; a score is missing or not finite; the
            same seed gives other scores; or a state taken in the middle and given to a fresh
            session does not go on bit for bit.
        UsageError: the search space has a parameter that not every searcher understands alike.
    """
    space = benchmark.space()
    describe_space(space, benchmark.mutable)
    assert set(config) == set(space), "the configuration to check with must be one of the space"
    assert benchmark.mode in ("min", "max"), "mode must be 'min' or 'max'"
    assert benchmark.max_epochs >= 1, "max_epochs must be at least 1"
    assert benchmark.epoch_device_seconds("CPU") > 0, "an epoch must cost something"
    found = dataset or benchmark.find_data(None)
    straight, states = _train(_session(benchmark, found), config)
    again, _ = _train(_session(benchmark, found), config)
    assert straight == again, "the same seed gives other scores"
    wanted = {benchmark.metric, benchmark.test_metric, benchmark.loss_metric} - {None}
    for metrics in straight:
        assert wanted <= set(metrics), f"{wanted - set(metrics)} is not reported"
        assert all(math.isfinite(value) for value in metrics.values()), f"not finite: {metrics}"
    if not benchmark.gives_checkpoints:
        return
    fresh = _session(benchmark, found)
    fresh.start(dict(config), SEED)
    fresh.load(_through_a_file(states[SPLIT_AT - 1]))
    resumed = [_epoch(fresh) for _ in range(SPLIT_AT, EPOCHS)]
    assert resumed == straight[SPLIT_AT:], "a restored session trains on differently"
    assert_same_state(fresh.state(), states[-1])


def assert_same_state(a: Any, b: Any, where: str = "state") -> None:
    """Nested plain data and tensors are equal, bit for bit."""
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b), f"{where} differs"
    elif isinstance(a, Mapping):
        assert set(a) == set(b), f"{where} has other keys"
        for key in a:
            assert_same_state(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), f"{where} has another length"
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same_state(one, other, f"{where}[{index}]")
    else:
        assert a == b, f"{where} differs"


def _session(benchmark: Benchmark, dataset: Dataset) -> Session:
    return benchmark.session(Worker(), dataset, 0)


def _train(session: Session, config: Config) -> tuple[list[dict[str, float]], list[Any]]:
    session.start(dict(config), SEED)
    metrics, states = [], []
    for _ in range(EPOCHS):
        metrics.append(_epoch(session))
        states.append(session.state())
    return metrics, states


def _epoch(session: Session) -> dict[str, float]:
    return {**session.train_epoch(), **session.evaluate()}


def _through_a_file(state: Mapping[str, Any]) -> dict[str, Any]:
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    buffer.seek(0)
    read: dict[str, Any] = torch.load(buffer, weights_only=True)
    return read
