"""How a study's request meets what a cluster has; every refusal shows its arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.registry import make_benchmark
from harness.cluster.storage import Storage
from harness.cluster.train_spec import TrainRunSpec
from harness.contract import Dataset, UsageError
from harness.contract.records import DevicesRecord
from harness.devices import ClusterDevices, decide_budget, decide_devices
from harness.study import StudyConfig


def decide(per_node: tuple[float, ...], kind: Any = "GPU", **asked: Any) -> tuple[int, int, float]:
    decided = decide_devices(StudyConfig(**asked), ClusterDevices(kind, "model", per_node))
    return decided.slots, decided.workers_per_trial, decided.devices_per_worker


@pytest.mark.parametrize(
    ("per_node", "asked", "expected"),
    [
        ((2,), {}, (1, 2, 1.0)),  # a laptop
        ((1,), {}, (1, 2, 0.5)),  # one device is shared by both workers
        ((8,), {}, (4, 2, 1.0)),
        ((64,), {}, (8, 2, 1.0)),  # the default limit
        ((64,), {"max_concurrent": 20}, (20, 2, 1.0)),
        ((4, 4), {"workers_per_trial": 3}, (2, 3, 1.0)),  # a group may span nodes
        ((3, 3), {"devices_per_worker": 2, "workers_per_trial": 2}, (1, 2, 2.0)),  # a worker not
        ((1,), {"devices_per_worker": 0.25, "max_concurrent": 9}, (2, 2, 0.25)),
        ((2,), {"devices_per_worker": 0.4}, (2, 2, 0.4)),
        # A part is of one GPU: two of 0.4 on each, not five on both.
        ((2,), {"devices_per_worker": 0.4, "workers_per_trial": 1}, (4, 1, 0.4)),
        ((2,), {"workers_per_trial": 3}, (1, 3, 0.5)),
        ((1, 1), {"workers_per_trial": 5}, (1, 5, 0.33)),
        ((1,), {"devices_per_worker": 0.5, "workers_per_trial": 1}, (2, 1, 0.5)),
        ((0.3,), {"devices_per_worker": 0.1, "workers_per_trial": 3}, (1, 3, 0.1)),
    ],
)
def test_slots(per_node: tuple[float, ...], asked: dict[str, Any], expected: Any) -> None:
    assert decide(per_node, **asked) == expected


def test_more_workers_than_the_cluster_has() -> None:
    with pytest.raises(UsageError, match=r"4 workers × 1 GPU = 4 GPU, but the cluster has 2 GPU"):
        decide((2,), workers_per_trial=4, devices_per_worker=1)


def test_a_worker_does_not_span_nodes() -> None:
    with pytest.raises(UsageError, match=r"has 6 GPU \(room for 2 such workers\)"):
        decide((3, 3), workers_per_trial=3, devices_per_worker=2)


def test_a_part_does_not_span_gpus_but_cores_are_one_pool() -> None:
    asked: dict[str, Any] = {"workers_per_trial": 3, "devices_per_worker": 0.6}
    with pytest.raises(UsageError, match=r"1\.8 GPU, but the cluster has 2 GPU \(room for 2 such"):
        decide((2,), **asked)
    assert decide((2,), "CPU", **asked) == (1, 3, 0.6)


@pytest.mark.parametrize(
    ("kind", "per_worker", "backend"),
    [("GPU", 1.0, "nccl"), ("GPU", 2.0, "nccl"), ("GPU", 0.5, "gloo"), ("CPU", 1.0, "gloo")],
)
def test_ranks_that_share_a_gpu_talk_over_gloo(kind: Any, per_worker: float, backend: str) -> None:
    toy = make_benchmark("fashion_mnist", {})
    nothing = Dataset(None, "", "")
    spec = TrainRunSpec(toy, nothing, 0, 2, kind, per_worker, Storage("nowhere"))
    assert spec.backend == backend


def test_no_parts_above_one() -> None:
    with pytest.raises(UsageError, match="whole number"):
        decide((8,), devices_per_worker=1.5)


@given(
    st.lists(st.integers(1, 16), min_size=1, max_size=5),
    st.integers(1, 8),
    st.sampled_from([None, 0.1, 0.25, 0.5, 1, 2]),
)
def test_never_more_than_there_is(nodes: list[int], workers: int, per_worker: float | None) -> None:
    asked: dict[str, Any] = {"workers_per_trial": workers, "devices_per_worker": per_worker}
    try:
        slots, _, each = decide(tuple(map(float, nodes)), **asked)
    except UsageError:
        return
    assert slots >= 1
    assert slots * workers * each <= sum(nodes) + 1e-9
    if each < 1:
        assert slots * workers <= sum(nodes) * int(1 / each + 1e-9), "a part across two GPUs"


def budget(hours: float | None, slots: int = 1) -> float:
    devices = DevicesRecord(
        kind="CPU", model="test", slots=slots, workers_per_trial=2, devices_per_worker=1.0
    )
    return decide_budget(StudyConfig(budget=hours), devices, make_benchmark("fashion_mnist", {}))


def test_the_budget_is_in_device_hours_and_by_default_the_machines() -> None:
    assert budget(0.5) == 1800.0
    assert budget(None, slots=3) == 3 * budget(None)


def test_a_budget_too_small_for_one_epoch_says_how_much_is_enough() -> None:
    with pytest.raises(UsageError, match="too small for one epoch") as caught:
        budget(1e-4, slots=2)
    enough = float(str(caught.value).rsplit("--budget ", 1)[1])
    assert budget(enough, slots=2) >= 2 * 5.0
