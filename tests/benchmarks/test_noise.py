"""Noise is a function of configuration, seed and address, and normal."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import kstest

from benchmarks.noise import Noise


def test_the_same_address_is_the_same_number_in_any_order() -> None:
    noise = Noise({"lr": 0.1, "depth": 2}, 3)
    forward = [noise.normal(0, epoch) for epoch in range(5)]
    again = Noise({"depth": np.int64(2), "lr": np.float64(0.1)}, 3)
    assert [again.normal(0, epoch) for epoch in reversed(range(5))] == forward[::-1]


def test_everything_in_the_address_counts() -> None:
    numbers = {
        Noise({"x": x}, seed).normal(stream, epoch)
        for x in (0, 1) for seed in (0, 1) for stream in (0, 1) for epoch in (0, 1, 11)
    }  # fmt: skip
    assert len(numbers) == 24
    assert Noise({}, 0).normal(1, 11) != Noise({}, 0).normal(11, 1) != Noise({}, 0).normal(111)


def test_it_is_standard_normal_and_uniform() -> None:
    noise = Noise({"x": 1}, 0)
    assert kstest([noise.normal(0, i) for i in range(4000)], "norm").pvalue > 0.01
    uniform = [noise.uniform(1, i) for i in range(4000)]
    assert kstest(uniform, "uniform").pvalue > 0.01
    assert min(uniform) > 0 and max(uniform) < 1


def test_the_last_digits_of_a_configuration_do_not_count() -> None:
    """Another processor's exponential function ends in others."""
    lr = 0.012345678901234567
    noise = Noise({"lr": lr}, 0)
    assert Noise({"lr": math.nextafter(lr, 1)}, 0).integer(1) == noise.integer(1)
    assert Noise({"lr": lr * (1 + 1e-9)}, 0).integer(1) != noise.integer(1)
