"""The contract as a test, for benchmarks of other packages too.

In a test of yours: ``check_benchmark(MyBenchmark(), a_configuration_that_trains_well)``.
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.space import describe_space
from harness.contract import Benchmark, Config, Dataset, Session, Worker

EPOCHS, SPLIT_AT, SEED, DRAWS = 3, 2, 11, 20


def check_benchmark(benchmark: Benchmark, config: Config, dataset: Dataset | None = None) -> None:
    """Train ``config`` (a sound one) for a few epochs in this process, one worker, on the CPU.

    Raises:
        AssertionError: the metadata contradict each other; a score is missing or not finite; the
            same seed gives other scores; the scores ahead are not those that training gives; a
            state taken in the middle and given to a fresh session does not go on bit for bit; or a
            loaded state brings its own configuration along.
        UsageError: the search space has a parameter that not every searcher understands alike.
    """
    _check_metadata(benchmark)
    assert set(config) == set(benchmark.space()), "config must have the parameters of the space"
    found = dataset or benchmark.find_data(None)
    session = _session(benchmark, found)
    straight, states = _train(session, config)
    again, _ = _train(_session(benchmark, found), config)
    assert_same_state(straight, again, "with the same seed again, metrics")
    again, _ = _train(session, config)
    assert_same_state(straight, again, "in a session that has served a trial before, metrics")
    wanted = {benchmark.metric, benchmark.test_metric, benchmark.loss_metric} - {None}
    for metrics in straight:
        assert wanted <= set(metrics), f"{wanted - set(metrics)} is not reported"
        assert all(math.isfinite(value) for value in metrics.values()), f"not finite: {metrics}"
    _check_the_scores_ahead(benchmark, session, config, straight)
    if not benchmark.gives_checkpoints:
        return
    fresh = _session(benchmark, found)
    fresh.start(dict(config), SEED)
    fresh.load(_through_a_file(states[SPLIT_AT - 1]))
    resumed = [_epoch(fresh) for _ in range(SPLIT_AT, EPOCHS)]
    assert_same_state(resumed, straight[SPLIT_AT:], "after state() and load(), metrics")
    assert_same_state(fresh.state(), states[-1], "after state() and load(), state")
    if benchmark.mutable:
        _check_the_config_wins(benchmark, config, found)


def _check_metadata(benchmark: Benchmark) -> None:
    name = benchmark.name
    assert name == name.strip() != "", f"the name {name!r} is empty or has spaces around it"
    assert benchmark.summary and "\n" not in benchmark.summary, "the summary must be one line"
    assert benchmark.metric, "the metric must have a name"
    assert benchmark.metric != benchmark.test_metric, "test_metric must be another than metric"
    assert benchmark.mode in ("min", "max"), f"mode must be 'min' or 'max', not {benchmark.mode!r}"
    assert benchmark.max_epochs >= 1, f"max_epochs must be at least 1, not {benchmark.max_epochs}"
    assert benchmark.epoch_device_seconds("CPU") > 0, "epoch_device_seconds must be above 0"
    targets = benchmark.targets
    assert all(map(math.isfinite, targets)), f"targets must be finite numbers, not {targets}"
    assert len(set(targets)) == len(targets), f"targets must differ from each other: {targets}"
    unknown = set(benchmark.mutable) - set(benchmark.space())
    assert not unknown, f"the mutable parameters {sorted(unknown)} are not in the space"
    describe_space(benchmark.space(), benchmark.mutable)


def _check_the_scores_ahead(
    benchmark: Benchmark, session: Session, config: Config, straight: list[dict[str, float]]
) -> None:
    session.start(dict(config), SEED)
    _epoch(session)
    ahead = session.scores_ahead(EPOCHS - 1)
    if ahead is None:
        return
    trained = [metrics[benchmark.metric] for metrics in straight[1:]]
    assert_same_state(list(ahead), trained, "scores_ahead() and what training gives")
    again, _ = _train(session, config)
    assert_same_state(straight, again, "after scores_ahead() and start(), metrics")


def _check_the_config_wins(benchmark: Benchmark, config: Config, dataset: Dataset) -> None:
    """Before the first epoch, a state differs from another configuration's by nothing that lasts.

    So a session that starts with other mutable parameters and loads it must train as one that
    started with them and loaded nothing.
    """
    changed = _with_other_mutables(benchmark, config)
    before = _session(benchmark, dataset)
    before.start(dict(config), SEED)
    state = _through_a_file(before.state())
    loaded, straight = _session(benchmark, dataset), _session(benchmark, dataset)
    loaded.start(dict(changed), SEED)
    loaded.load(state)
    metrics = _epoch(loaded), loaded.state()
    straight.start(dict(changed), SEED)
    where = "load() must leave the configuration given to start() in force:"
    assert_same_state(metrics[0], _epoch(straight), f"{where} metrics")
    assert_same_state(metrics[1], straight.state(), f"{where} state")


def _with_other_mutables(benchmark: Benchmark, config: Config) -> Config:
    """Every mutable parameter drawn anew, until it differs (a choice of one stays)."""
    changed = dict(config)
    for name in benchmark.mutable:
        domain: Any = benchmark.space()[name]
        draws = (domain.sample(random_state=seed) for seed in range(DRAWS))
        changed[name] = next((value for value in draws if value != config[name]), config[name])
    return changed


def assert_same_state(a: Any, b: Any, where: str = "state") -> None:
    """Nested plain data and tensors are equal, bit for bit; NaN equals NaN."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        torch.testing.assert_close(
            a, b, rtol=0, atol=0, equal_nan=True, msg=lambda text: f"{where} differ: {text}"
        )
    elif isinstance(a, Mapping) and isinstance(b, Mapping):
        assert set(a) == set(b), f"{where} differ: {set(a)} and {set(b)}"
        for key in a:
            assert_same_state(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        assert len(a) == len(b), f"{where} differ: {len(a)} and {len(b)} items"
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same_state(one, other, f"{where}[{index}]")
    else:
        both_nan = a != a and b != b
        assert a == b or both_nan, f"{where} differ: {a!r} and {b!r}"


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
    try:
        read: dict[str, Any] = torch.load(buffer, weights_only=True)
    except pickle.UnpicklingError as error:
        raise AssertionError(f"state() has more than tensors and plain values: {error}") from None
    return read
