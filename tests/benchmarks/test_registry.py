"""Benchmarks by name and their options."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.registry import make_benchmark, options_of
from harness.contract import UsageError


def test_listing_benchmarks_loads_neither_torch_nor_ray() -> None:
    code = (
        "import sys; from benchmarks.registry import BENCHMARKS, make_benchmark\n"
        "assert BENCHMARKS.names()[0] == 'fashion_mnist'; make_benchmark('fashion_mnist', {})\n"
        "print(*({'ray', 'torch', 'torchvision', 'pyarrow', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_options_are_turned_into_their_types() -> None:
    benchmark = make_benchmark("fashion_mnist", {"model": "cnn", "max_epochs": "27"})
    assert options_of(benchmark) == {"model": "cnn", "max_epochs": 27}
    assert options_of(make_benchmark("fashion_mnist", {})) == {"model": "mlp", "max_epochs": 9}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_epoch": 3}, "no option 'max_epoch'.*Did you mean 'max_epochs'"),
        ({"model": "vit"}, "'mlp' or 'cnn', not 'vit'"),
        ({"max_epochs": "0"}, "greater than or equal to 1, not '0'"),
        ({"max_epochs": "many"}, "not 'many'"),
    ],
)
def test_wrong_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_benchmark("fashion_mnist", options)
