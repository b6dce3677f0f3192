"""A benchmark file: FashionMNIST at one configuration, so that every epoch costs the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fashion_mnist import FashionMNIST

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

CONFIG = {
    "lr": 1e-3,
    "batch_size": 128,
    "width": 256,
    "depth": 2,
    "dropout": 0.2,
    "weight_decay": 1e-3,
}


class FixedFashionMNIST(FashionMNIST):
    """One point instead of a space."""

    name = "fashion_mnist_fixed"
    summary = "FashionMNIST at one configuration (for measurements)"

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {name: tune.choice([value]) for name, value in CONFIG.items()}


del FashionMNIST  # a benchmark file offers every benchmark that it names
