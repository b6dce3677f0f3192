"""SGD with momentum on a noisy quadratic: training dynamics that are real, and solved exactly.

The noisy quadratic model of Zhang et al. (2019, arXiv:1907.04164, section 3): a loss
½ Σ hᵢ θᵢ² with curvatures hᵢ = 1/i, and gradients whose noise has the variance hᵢ / batch size. A
large learning rate is quick and ends in noise, a small one is exact and slow, and one that is
lowered on the way beats both: what population based training is for (Jaderberg et al. 2017,
arXiv:1711.09846, use a quadratic toy, too). Above 2 (1 + momentum) training diverges.

Weights stay Gaussian under linear updates, so an epoch of any number of steps is one draw from the
distribution after those steps, without going through them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field
from pydantic.dataclasses import dataclass

from harness.contract import Benchmark, Dataset, DeviceKind, Session, Worker

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

BATCH_SIZES = (8, 16, 32, 64, 128)
EXAMPLES = 1024
"""Of an epoch: a power of two, as the batch sizes, so that the number of steps is one as well."""
STEP_SECONDS, EXAMPLE_SECONDS = 0.02, 0.002


class EpochSeconds(NamedTuple):
    train: float
    evaluate: float = 0.3
    checkpoint: float = 0.05


def epoch_seconds(batch_size: int) -> EpochSeconds:
    """Device-seconds: every step costs something, and so does every example."""
    return EpochSeconds(EXAMPLES // batch_size * STEP_SECONDS + EXAMPLES * EXAMPLE_SECONDS)


@dataclass(frozen=True)
class NoisyQuadratic(Benchmark):
    """All three parameters may change in the middle of a trial, and what then happens is exact."""

    name = "noisy_quadratic"
    summary = "SGD with momentum on a noisy quadratic, solved exactly; less is better"
    metric = "validation_loss"
    mode = "min"
    test_metric = "test_loss"
    loss_metric = "validation_loss"
    targets = (0.27, 0.016, 0.0064, 0.0049)
    mutable = frozenset({"lr", "momentum", "batch_size"})
    light_sessions = True

    max_epochs: Annotated[int, Field(ge=1)] = 27

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {
            "lr": tune.loguniform(1e-4, 10.0),
            "momentum": tune.uniform(0.0, 0.99),
            "batch_size": tune.choice(list(BATCH_SIZES)),
        }

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return sum(sum(epoch_seconds(size)) for size in BATCH_SIZES) / len(BATCH_SIZES)

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        # Late, because it imports numpy, which a listing need not wait for.
        from benchmarks.analytic.quadratic_session import QuadraticSession

        return QuadraticSession(data_seed)
