"""Training one classifier at a time, data-parallel over the ranks of a worker group."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.fashion_mnist.cost import mlp_epoch_cost
from benchmarks.fashion_mnist.data import Split, load
from benchmarks.fashion_mnist.model import CNN, MLP
from benchmarks.fashion_mnist.sharding import batches, bounds
from harness.contract import Config, Dataset, EpochCost, Session, Worker

MEAN, STD = 0.2860, 0.3530
"""Of the training images' pixels, scaled to [0, 1]."""

EVALUATION_BATCH = 1000


class FashionMNISTSession(Session):
    """The images are loaded once, here; trials then follow each other on them.

    Every epoch draws one permutation of the training images, the same on all ranks; each global
    batch is cut into one shard per rank, and gradients are weighted so that their mean over the
    ranks is the gradient of the global batch, also where it does not divide evenly.
    """

    def __init__(self, model: str, worker: Worker, dataset: Dataset, data_seed: int) -> None:
        self._make_model: type[MLP | CNN] = MLP if model == "mlp" else CNN
        self._worker = worker
        self._device = torch.device(worker.device)
        splits = load(dataset, data_seed)
        self._train = _on_device(splits.train, self._device)
        self._validation = self._shard(_on_device(splits.validation, self._device))
        self._test = self._shard(_on_device(splits.test, self._device))
        self._warm_up()

    def start(self, config: Config, seed: int) -> None:
        self._seed, self._epoch = seed, 0
        self._batch_size = int(config["batch_size"])
        size = int(config["width"]), int(config["depth"])
        is_mlp = self._make_model is MLP
        self._cost = mlp_epoch_cost(*size, self._batch_size) if is_mlp else None
        # The same weights on every rank, then each rank its own dropout.
        torch.manual_seed(seed)
        model = self._make_model(*size, config["dropout"])
        self._model: nn.Module = model.to(self._device)
        self._parallel_model = _data_parallel(self._model, self._worker)
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(),
            lr=config["lr"],
            weight_decay=config["weight_decay"],
            fused=True,
        )
        torch.manual_seed(seed * self._worker.world_size + self._worker.rank)

    def train_epoch(self) -> Mapping[str, float]:
        self._parallel_model.train()
        images, labels = self._train.images, self._train.labels
        order = self._order(len(labels))
        total = torch.zeros((), device=self._device)
        for start, stop in batches(len(labels), self._batch_size):
            first, last = bounds(stop - start, self._worker.rank, self._worker.world_size)
            chosen = order[start + first : start + last]
            scores = self._parallel_model(_normalised(images[chosen]))  # (shard, 10)
            loss = F.cross_entropy(scores, labels[chosen], reduction="sum")
            # Ranks' gradients are averaged: their mean is the global batch's mean gradient.
            (loss * (self._worker.world_size / (stop - start))).backward()
            self._optimizer.step()
            self._optimizer.zero_grad()
            total += loss.detach()
        self._epoch += 1
        return {"train_loss": self._sum_over_ranks(total).item() / len(labels)}

    @torch.no_grad()
    def evaluate(self) -> Mapping[str, float]:
        self._model.eval()
        validation, test = self._count(self._validation), self._count(self._test)
        # (correct, loss, images) of both sets, over all ranks.
        sums = self._sum_over_ranks(torch.stack([validation, test])).tolist()
        (correct, loss, n), (test_correct, _, test_n) = sums
        metrics = {
            "validation_accuracy": correct / n,
            "validation_loss": loss / n,
            "test_accuracy": test_correct / test_n,
        }
        # NaN compares false with everything, so a diverged model would still "predict" class 0.
        return metrics if loss - loss == 0 else dict.fromkeys(metrics, float("nan"))

    def state(self) -> Mapping[str, Any]:
        return {
            "model": {name: tensor.clone() for name, tensor in self._model.state_dict().items()},
            "optimizer": copy.deepcopy(self._optimizer.state_dict()),
            "epoch": self._epoch,
            "random": self._random_states(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        wanted = [(group["lr"], group["weight_decay"]) for group in self._optimizer.param_groups]
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        for group, (lr, weight_decay) in zip(self._optimizer.param_groups, wanted, strict=True):
            group["lr"], group["weight_decay"] = lr, weight_decay
        self._epoch = state["epoch"]
        mine = state["random"][self._worker.rank]
        torch.set_rng_state(mine["cpu"])
        if self._device.type == "cuda":
            torch.cuda.set_rng_state(mine["device"], self._device)

    @property
    def model(self) -> nn.Module:
        """Takes normalised images: ``(pixels / 255 - MEAN) / STD``, float32, (n, 28, 28)."""
        return self._model

    def epoch_cost(self) -> EpochCost | None:
        """Of the MLP; the CNN's is the benchmark's one figure."""
        return self._cost

    def _warm_up(self) -> None:
        """A first step loads and compiles for seconds: that is set-up, not the first trial's."""
        smallest = {"batch_size": 32, "width": 32, "depth": 1, "dropout": 0.0}
        self.start(smallest | {"lr": 0.0, "weight_decay": 0.0}, seed=0)
        scores = self._parallel_model(_normalised(self._train.images[:32]))
        F.cross_entropy(scores, self._train.labels[:32]).backward()
        self._optimizer.step()
        self.evaluate()

    def _order(self, items: int) -> Tensor:
        """This epoch's permutation: the same for every rank, another one every epoch."""
        generator = torch.Generator().manual_seed((self._seed << 20) + self._epoch)
        return torch.randperm(items, generator=generator).to(self._device)

    def _shard(self, split: Split) -> Split:
        first, last = bounds(len(split.labels), self._worker.rank, self._worker.world_size)
        return Split(split.images[first:last], split.labels[first:last])

    def _count(self, split: Split) -> Tensor:
        """(correct, summed loss, images) of this rank's shard, as float64."""
        sums = torch.zeros(3, dtype=torch.float64, device=self._device)
        for start, stop in batches(len(split.labels), EVALUATION_BATCH):
            labels = split.labels[start:stop]
            scores = self._model(_normalised(split.images[start:stop]))
            sums[0] += (scores.argmax(1) == labels).sum()
            sums[1] += F.cross_entropy(scores, labels, reduction="sum")
            sums[2] += len(labels)
        return sums

    def _sum_over_ranks(self, values: Tensor) -> Tensor:
        if self._worker.world_size > 1:
            dist.all_reduce(values)
        return values

    def _random_states(self) -> list[dict[str, Tensor]]:
        """Every rank's, so that dropout goes on as if nothing had happened."""
        mine = {"cpu": torch.get_rng_state()}
        if self._device.type == "cuda":
            mine["device"] = torch.cuda.get_rng_state(self._device)
        gathered: list[dict[str, Tensor]] = [{} for _ in range(self._worker.world_size)]
        for name, value in mine.items():
            for rank, state in enumerate(self._gather(value)):
                gathered[rank][name] = state
        return gathered

    def _gather(self, value: Tensor) -> list[Tensor]:
        if self._worker.world_size == 1:
            return [value]
        value = value.to(self._device)
        everyones = [torch.empty_like(value) for _ in range(self._worker.world_size)]
        dist.all_gather(everyones, value)
        return [tensor.cpu() for tensor in everyones]


def _on_device(split: Split, device: torch.device) -> Split:
    return Split(split.images.to(device), split.labels.to(device))


def _normalised(images: Tensor) -> Tensor:
    """uint8 pixels → float32 with mean 0 and standard deviation 1 over the training images."""
    return images.float().mul_(1 / (255 * STD)).sub_(MEAN / STD)


def _data_parallel(model: nn.Module, worker: Worker) -> nn.Module:
    if worker.world_size == 1:
        return model
    if not _in_ray_train():
        return DistributedDataParallel(model)
    from ray.train.torch import prepare_model

    prepared: nn.Module = prepare_model(model, move_to_device=torch.device(worker.device))
    return prepared


def _in_ray_train() -> bool:
    """Whether this process is a Ray Train worker; elsewhere (tests) there is no context."""
    from ray import train

    try:
        train.get_context().get_world_size()
    except Exception:
        return False
    return True
