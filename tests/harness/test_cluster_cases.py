"""Cases from the field that only a cluster can show; see ``tests/cases/README.md``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from harness.cluster.ray_cluster import RayCluster
from tests.harness.conftest import TOY_FILE, RunCell
from tests.harness.export.conftest import free_port
from tests.harness.test_cluster import assert_accounted, ends

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

STRATEGIES = Path(__file__).with_name("case_strategies.py")
VIRTUAL_TOYS = Path(__file__).with_name("virtual_toys.py")


@contextmanager
def another_cluster(nodes: int, *, has_dashboard: bool) -> Iterator[str]:
    """The address of a cluster of so many nodes, beside the one that the tests share."""
    head = {"num_cpus": 1, "include_dashboard": has_dashboard, "dashboard_port": free_port()}
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
    try:
        for _ in range(nodes - 1):
            cluster.add_node(num_cpus=1)
        yield cluster.address
    finally:
        cluster.shutdown()


def run_command(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "run", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


def refused_on(address: str, out: Path) -> str:
    """The message of a ``run`` there that is refused before anything starts."""
    words = ["--strategies", "random/fifo", "--benchmark", "toy", "--benchmark-file", TOY_FILE]
    words += ["--address", address, "--out", out]
    done = run_command(*words)
    assert done.returncode == 2, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (out / "study.json").exists()
    return done.stderr


def test_case_01_a_cluster_without_its_dashboard(tmp_path: Path) -> None:
    """ray#54305: a stopped trial's devices would never come back."""
    with another_cluster(1, has_dashboard=False) as address:
        told = refused_on(address, tmp_path)
    assert "State API does not answer" in told
    assert 'pip install "ray[default,train,tune]"' in told and "dashboard on" in told


def test_case_22_every_trial_is_paused(run_cell: RunCell) -> None:
    """ray#48616: the watchdog ends the cell, with its state shown, long before its budget."""
    cell = run_cell("waiting", strategy_files=[STRATEGIES], workers=1, seconds=40)
    assert_accounted(cell)
    assert cell.record.status == "failed"
    assert cell.record.reason == (
        "stuck: no trial runs, and the scheduler goes on with none of the 3 that are paused "
        "(trial 0 at epoch 1, trial 1 at epoch 1, trial 2 at epoch 1)"
    )
    assert cell.record.held_device_seconds < 0.9 * cell.record.budget_device_seconds


def test_case_28_memory_after_ten_stopped_trials(run_cell: RunCell) -> None:
    """ray#32725. (Of the host; no GPU was there.) The test score is the worker's memory."""
    held_mb = 32.0
    cell = run_cell(
        "stop-at-once",
        benchmark="toy_that_tells_its_memory",
        strategy_files=[STRATEGIES],
        workers=1,
        seconds=120,
        state_megabytes=held_mb,
    )
    assert_accounted(cell)
    assert len(ends(cell, "stopped")) == 13
    assert cell.record.reason.startswith("the searcher ended after")
    memory = [report.test_score for report in cell.reports]
    third, last = memory[2], memory[12]
    assert third is not None and last is not None
    # Ten trials' states would be 320 MB.
    assert last - third < 3 * held_mb


def test_cases_03_10_16_27_a_study_as_it_is_typed(cluster: RayCluster, tmp_path: Path) -> None:
    """ray#6780: rungs are printed, and one that is beyond the cap is warned of. ray#58179: a state
    file cut to 0 bytes: that cell is done again, and the reason is said. ray#27170: PBT without
    checkpoints. ray PR#26655: the exit code where every trial reported and then failed."""
    virtual = ["--executor", "virtual", "--benchmark-file", VIRTUAL_TOYS]
    virtual += ["--address", cluster.address]

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        done = run_command(*virtual, *words)
        assert "Traceback" not in done.stderr + done.stdout
        return done

    toy = ["--benchmark", "clockwork", "--strategies", "random/asha", "--budget", 0.1]
    first = [*toy, "--benchmark-option", "max_epochs=10", "--seeds", 2, "--out", tmp_path / "a"]
    done = run(*first)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "rungs: random/asha: trials are compared at epochs 1, 3, 9, and end at 10" in done.stdout
    assert "its next rung, 27, is beyond the epochs cap of 10" in done.stdout
    assert "done again" not in done.stdout

    damaged, kept = (tmp_path / "a" / "cells" / f"random-asha--seed-{seed}" for seed in (0, 1))
    whole = (damaged / "cell.json").read_bytes()
    (damaged / "cell.json").write_bytes(b"")
    before = (kept / "cell.json").stat().st_mtime_ns
    done = run(*first)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "done again: random/asha seed 0: cell.json is empty" in done.stdout
    assert "done again: random/asha seed 1" not in done.stdout
    assert (damaged / "cell.json").read_bytes() == whole
    assert (damaged / "earlier" / "1" / "events.jsonl").exists()
    assert (kept / "cell.json").stat().st_mtime_ns == before

    failing = ["--benchmark-option", "faults=raise", "--max-same-failures", 0]
    done = run(*toy, *failing, "--strategies", "random/fifo", "--out", tmp_path / "b")
    assert done.returncode == 1, done.stderr + done.stdout
    assert "failed: random/fifo seed 0: no valid result: all " in done.stdout

    pbt = ["--benchmark", "clockwork_without_checkpoints", "--strategies", "pbt"]
    done = run(*pbt, "--out", tmp_path / "c")
    assert done.returncode == 2
    assert "needs checkpoints, which this benchmark does not give" in done.stderr
