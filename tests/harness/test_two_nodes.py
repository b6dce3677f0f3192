"""A study through the command line on somebody's cluster of two nodes, with checkpoints on S3."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cluster.storage import open_storage
from harness.contract.records import CellRecord
from reports.store import read_cell
from tests.harness.conftest import TOY_FILE
from tests.harness.s3_server import SECRET, s3_server
from tests.harness.test_cluster import assert_accounted, held_by_kind
from tests.harness.test_run_command import run

pytestmark = pytest.mark.cluster

BUCKET = "shared"


CLUSTER = """
import socket, sys
from ray.cluster_utils import Cluster

with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
one_core = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
head = {**one_core, "include_dashboard": True, "dashboard_port": port}
cluster = Cluster(initialize_head=True, head_node_args=head)
second = cluster.add_node(**one_core)
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(second, allow_graceful=False)
    second = cluster.add_node(**one_core)
    print("replaced", flush=True)
cluster.shutdown()
"""
"""At each line that it reads, the second node dies and another one comes."""


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[subprocess.Popen[str]]:
    """Two nodes on this machine, by Ray's own means, in a process of their own (one process is of
    one mind about tokens). RAY_ADDRESS is what ``auto`` looks at first."""
    with s3_server(BUCKET) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in {**environment, "RAY_AUTH_MODE": "token"}.items():
            patch.setenv(name, value)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen([sys.executable, "-c", CLUSTER], **pipes) as owner:  # type: ignore[call-overload]
            assert owner.stdout is not None
            address = owner.stdout.readline().strip()
            assert address, "the cluster did not start"
            patch.setenv("RAY_ADDRESS", address)
            yield owner
            owner.communicate(timeout=60)


TOY = ["--benchmark", "toy", "--benchmark-file", TOY_FILE, "--benchmark-option", "max_epochs=6"]
HERE = ["--address", "auto", "--strategies", "pbt", "--budget", 90 / 3600, *TOY]


@pytest.mark.timeout(600)
def test_a_worker_on_each_node_and_one_of_them_dies(
    two_nodes: subprocess.Popen[str], tmp_path: Path
) -> None:
    out, storage = tmp_path / "study", f"s3://{BUCKET}/hpo"
    # The workers wait in the middle of the first trial's second epoch for what comes.
    waits = [f"--benchmark-option={it}" for it in ("faults=wait_once", f"folder={tmp_path}")]
    words = [*HERE, *waits, "--storage", storage, "--out", out]
    command = [sys.executable, "-m", "harness", "run", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **pipes) as study:  # type: ignore[call-overload]
        while len(list(tmp_path.glob("wait_once-*"))) < 2:
            assert study.poll() is None, study.stdout.read()
            time.sleep(0.1)
        assert two_nodes.stdin is not None and two_nodes.stdout is not None
        two_nodes.stdin.write("die\n")
        two_nodes.stdin.flush()
        assert two_nodes.stdout.readline() == "replaced\n"
        told, _ = study.communicate(timeout=400)
    assert study.returncode == 0, told
    assert "1 slot(s) × 2 workers × 1 core" in told
    cell = read_cell(out / "cells" / "pbt--seed-0")
    assert isinstance(cell.record, CellRecord) and cell.record.status == "completed"
    assert_accounted(cell)
    assert held_by_kind(cell)["lost"] > 0, "a node's death takes work with it"
    deaths = [end for end in cell.ends if end.retried]
    assert deaths and cell.reports[-1].reported_s > deaths[-1].at_s, "nothing went on"
    assert [report for report in cell.reports if report.parent is not None], "no exploit"
    assert not (out / "storage").exists()
    driver = open_storage(storage).filesystem.handler.fs
    driver.invalidate_cache()
    assert driver.find(f"{BUCKET}/hpo") == [], "checkpoints were left behind"
    written = [path for path in out.rglob("*") if path.is_file()]
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


def test_what_the_nodes_do_not_have_is_refused_with_numbers(
    two_nodes: object, tmp_path: Path
) -> None:
    done = run(*HERE, "--workers-per-trial", 3, "--devices-per-worker", 1, "--out", tmp_path)
    assert done.returncode == 2, done.stderr
    assert "3 workers × 1 CPU = 3 CPU, but the cluster has 2 CPU" in done.stderr


def test_the_run_folder_of_one_node_is_no_place_for_two(two_nodes: object, tmp_path: Path) -> None:
    """Case 30, ray#37177."""
    done = run(*HERE, "--out", tmp_path)
    assert done.returncode == 2, done.stderr
    assert "the cluster has 2 nodes" in done.stderr and "--storage" in done.stderr


def test_storage_that_only_this_process_sees_is_refused(two_nodes: object) -> None:
    code = (
        "import ray; from harness.cluster.reach import check_every_node_reaches as check;"
        "ray.init(log_to_driver=False); check('memory://here')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = done.stderr.splitlines()[-1]
    assert "UsageError: --storage memory://here is not the same place for all nodes:" in said
    assert "does not see what this node wrote (FileNotFoundError" in said
