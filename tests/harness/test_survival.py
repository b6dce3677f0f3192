"""Studies whose processes are killed, and the same command again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.perf.soak.__main__ import command, soak
from harness.cluster.ray_cluster import RayCluster

WAIT_S = 240
"""For another process, on a machine that may be busy."""

VIRTUAL = [
    sys.executable, "-m", "harness", "run", "--executor", "virtual", "--benchmark",
    "noisy_quadratic", "--strategies", "optuna/asha,pbt", "--seeds", "2",
    "--budget", "0.2", "--devices", "4",
]  # fmt: skip


@pytest.mark.cluster
def test_a_virtual_study_that_is_killed_comes_to_the_same_bytes(
    cluster: RayCluster, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    study_words = [*VIRTUAL, "--address", cluster.address]
    subprocess.run([*study_words, "--out", str(whole)], check=True, timeout=WAIT_S)
    again = [*study_words, "--out", str(killed)]
    study = subprocess.Popen(again, start_new_session=True)
    waits_until = time.monotonic() + WAIT_S
    while not list(killed.glob("cells/*/cell.json")):
        assert study.poll() is None and time.monotonic() < waits_until
        time.sleep(0.02)
    os.killpg(study.pid, signal.SIGKILL)
    study.wait()
    done = len(list(killed.glob("cells/*/cell.json")))
    assert 0 < done < 4, "it was killed in the middle"
    assert not (killed / "results.parquet").exists()
    subprocess.run(again, check=True, timeout=WAIT_S)
    for name in ("results.parquet", "summary.json"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    events = sorted(path.relative_to(whole) for path in whole.glob("cells/*/events.jsonl"))
    assert len(events) == 4
    for path in events:
        assert (killed / path).read_bytes() == (whole / path).read_bytes()


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_nothing_is_lost_that_was_reported_before_a_kill(tmp_path: Path) -> None:
    """The short version of the script, which has more of everything. With this seed the first kill
    comes while trials are at work; what that costs is a matter of the moment."""
    out = tmp_path / "soak"
    run = command(out, strategies="pbt", seeds=1, budget_hours=0.008)
    found = soak(out, run, kills=2, seed=4, max_s=570)
    assert found.problems == []
    assert found.cells == 1 and found.reports > 15
    assert sum(found.killed.values()) > 0
