"""What every cell of a study holds: decided from the request and from what the cluster has."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.contract import Benchmark, DeviceKind, UsageError
from harness.contract.records import DevicesRecord
from harness.study import StudyConfig

DEFAULT_MAX_SLOTS = 8
"""More slots by themselves would make a short default budget end before a trial is trained."""

DEFAULT_CELL_SECONDS: dict[DeviceKind, float] = {"CPU": 48.0, "GPU": 300.0}
"""How long the default budget lasts. On 2 cores six cells, each with about 40 s of unbilled start
and end, then take less than ten minutes."""

DEFAULT_VIRTUAL_TRAININGS = 50
"""The default virtual budget pays for so many trials trained to the cap."""


@dataclass(frozen=True)
class ClusterDevices:
    """What a Ray cluster has: devices of one kind on each node that has any, and their model."""

    kind: DeviceKind
    model: str
    per_node: tuple[float, ...]

    @property
    def total(self) -> float:
        return sum(self.per_node)


def decide_devices(
    study: StudyConfig, cluster: ClusterDevices, max_slots: int = DEFAULT_MAX_SLOTS
) -> DevicesRecord:
    """The slots, and the devices of each, that fit this cluster.

    Raises:
        UsageError: not even one trial fits (the message has the arithmetic), or a fraction that
            Ray does not take.
    """
    workers, kind = study.workers_per_trial, cluster.kind
    per_worker = study.devices_per_worker or _default_share(workers, cluster)
    if per_worker > 1 and per_worker != int(per_worker):
        raise UsageError(
            f"--devices-per-worker {per_worker:g}: above 1 it must be a whole number "
            f"(Ray gives whole {kind}s or parts of one)"
        )
    places = [_places(devices, per_worker, kind) for devices in cluster.per_node]
    possible = sum(places) // workers
    if possible < 1:
        raise UsageError(
            f"one trial needs {workers} workers × {per_worker:g} {kind} = "
            f"{workers * per_worker:g} {kind}, but the cluster has {cluster.total:g} {kind} "
            f"(room for {sum(places)} such workers): "
            "use a smaller --workers-per-trial or --devices-per-worker"
        )
    return DevicesRecord(
        kind=kind,
        model=cluster.model,
        slots=min(possible, study.max_concurrent or max_slots),
        workers_per_trial=workers,
        devices_per_worker=per_worker,
    )


def _places(devices: float, per_worker: float, kind: DeviceKind) -> int:
    """How many workers a node has room for. A part of a GPU is of one GPU: three workers of 0.6
    take three; cores are one pool."""

    def fit(amount: float) -> int:
        return math.floor(round(amount / per_worker, 6))

    if kind == "CPU" or per_worker >= 1:
        return fit(devices)
    whole = math.floor(devices)
    return whole * fit(1.0) + fit(devices - whole)


def _default_share(workers: int, cluster: ClusterDevices) -> float:
    """A whole device for each worker, or an equal share where there are too few."""
    if cluster.total >= workers:
        return 1.0
    if cluster.kind == "GPU":
        return math.floor(100 / math.ceil(workers / cluster.total)) / 100 or 0.01
    return max(math.floor(100 * cluster.total / workers) / 100, 0.01)


def decide_budget(study: StudyConfig, devices: DevicesRecord, benchmark: Benchmark) -> float:
    """Device-seconds per cell.

    Raises:
        UsageError: the budget asked for is too small for one epoch, or the benchmark does not
            declare what one costs.
    """
    epoch = _declared_epoch_cost(benchmark, devices.kind)
    if study.budget is None:
        if study.executor == "virtual":
            return DEFAULT_VIRTUAL_TRAININGS * benchmark.max_epochs * epoch
        return devices.held * DEFAULT_CELL_SECONDS[devices.kind]
    budget = study.budget * 3600
    # All slots are held while one trains, so an epoch's wall-clock costs what all of them cost.
    needed = epoch * devices.slots
    least = math.ceil(needed / 3600 * 1e4) / 1e4
    if budget < needed:
        raise UsageError(
            f"--budget {study.budget:g} device-hours ({budget:.3g} device-seconds) is too small "
            f"for one epoch: about {epoch:.3g} device-seconds × {devices.slots} slot(s) held "
            f"meanwhile = {needed:.3g}; give at least --budget {least:g}"
        )
    return budget


def _declared_epoch_cost(benchmark: Benchmark, kind: DeviceKind) -> float:
    try:
        seconds = float(benchmark.epoch_device_seconds(kind))
    except Exception as error:  # a benchmark's own code may raise anything
        seconds, given = math.nan, f"{type(error).__name__}: {error}"
    else:
        given = f"{seconds:g}"
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(
            f"benchmark {benchmark.name!r} does not declare what an epoch costs: "
            f"epoch_device_seconds({kind!r}) must give seconds above 0; it gave {given}"
        )
    return seconds
