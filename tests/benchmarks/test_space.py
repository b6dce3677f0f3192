"""The search space as data, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from ray import tune

from benchmarks.registry import make_benchmark
from benchmarks.space import describe_space
from harness.contract import UsageError
from harness.contract.records import ParameterRecord


def test_fashion_mnists_space() -> None:
    benchmark = make_benchmark("fashion_mnist", {})
    assert describe_space(benchmark.space(), benchmark.mutable) == {
        "lr": ParameterRecord(type="float", low=1e-5, high=1.0, log=True, mutable=True),
        "batch_size": ParameterRecord(
            type="categorical", choices=[128, 256, 512, 1024, 2048], mutable=True
        ),
        "width": ParameterRecord(type="integer", low=64, high=512, log=True),
        "depth": ParameterRecord(type="integer", low=1, high=4),
        "dropout": ParameterRecord(type="float", low=0.0, high=0.7, mutable=True),
        "weight_decay": ParameterRecord(type="float", low=1e-6, high=0.1, log=True, mutable=True),
    }


def test_a_constant_is_a_choice_of_one() -> None:
    assert describe_space({"x": 3}, ())["x"].choices == [3]  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("domain", "named"),
    [
        (tune.sample_from(lambda: 1), "Function"),
        (tune.quniform(0, 1, 0.1), "Quantized"),
        (tune.qrandint(1, 10, 3), "Quantized"),
        (tune.randn(0, 1), "Normal"),
        (tune.choice([[1, 2], [3]]), "a choice among"),
        ({"y": tune.uniform(0, 1)}, "a nested dict"),
        (tune.grid_search([1, 2]), "tune.grid_search"),
    ],
)
def test_what_searchers_understand_differently_is_refused(domain: Any, named: str) -> None:
    with pytest.raises(UsageError, match=f"parameter 'x' .* is {named}.*use tune.uniform"):
        describe_space({"x": domain}, ())


def test_an_empty_space_and_an_unknown_mutable() -> None:
    with pytest.raises(UsageError, match="empty"):
        describe_space({}, ())
    with pytest.raises(UsageError, match=r"\['y'\] are not in its space"):
        describe_space({"x": tune.uniform(0, 1)}, {"y"})


def test_mutable_may_be_any_iterable() -> None:
    described = describe_space({"x": tune.uniform(0, 1), "y": tune.uniform(0, 1)}, iter("xy"))
    assert [parameter.mutable for parameter in described.values()] == [True, True]
