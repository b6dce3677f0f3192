"""Limits of time, trials and disk: a study stops cleanly, and goes on."""

from __future__ import annotations

import errno
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness.limits
from harness.clock import MonotonicClock
from harness.cluster.ray_cluster import RayCluster
from harness.contract import UsageError
from harness.limits import STOPPED_EXIT_CODE, StudyLimits, size_of
from harness.study import StudyConfig
from tests.harness.virtual_cells import run_virtual
from tests.harness.virtual_toys import Clockwork

TOYS = Path(__file__).with_name("virtual_toys.py")


def limits(folder: Path, **fields: Any) -> StudyLimits:
    config = StudyConfig.model_validate({"min_free_disk_gb": 0, **fields})
    return StudyLimits(config, folder, MonotonicClock())


def interrupted(found: StudyLimits) -> str | None:
    with pytest.raises(KeyboardInterrupt), found.watched():
        time.sleep(60)
    return found.reached


def test_the_time_is_over(tmp_path: Path) -> None:
    found = limits(tmp_path, max_hours=1e-9)
    assert interrupted(found) == "the study's 1e-09 hours (--max-hours) are over"


def test_a_study_that_ends_in_time_is_left_alone(tmp_path: Path) -> None:
    found = limits(tmp_path, max_hours=1.0, max_disk_gb=1.0)
    with found.watched():
        pass
    assert found.reached is None


def test_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.limits, "DISK_PERIOD_S", 0.0)
    storage = tmp_path / "storage"
    storage.mkdir()
    found = limits(
        tmp_path / "run", max_disk_gb=1e-6, storage=f"file://{storage}", executor="cluster"
    )
    found.refuse_full_disk()
    (storage / "checkpoint").write_bytes(bytes(2000))
    assert size_of(storage) == 2000
    assert interrupted(found) == "run folder and storage hold 2e-06 GB (--max-disk-gb 1e-06)"
    with pytest.raises(UsageError, match="--max-disk-gb"):
        found.refuse_full_disk()
    with pytest.raises(UsageError, match=r"are free at .* \(--min-free-disk-gb 1e\+09\)"):
        limits(tmp_path, min_free_disk_gb=1e9).refuse_full_disk()


def test_a_write_that_failed(tmp_path: Path) -> None:
    found = limits(tmp_path)
    found.note(OSError(errno.ENOSPC, "No space left on device", "events.jsonl"))
    assert found.reached == "a disk is full (No space left on device: events.jsonl)"
    with pytest.raises(PermissionError):
        limits(tmp_path).note(PermissionError(errno.EACCES, "Permission denied"))


@pytest.mark.parametrize("strategy", ["random/asha", "optuna/fifo", "pbt"])
def test_a_cell_ends_at_its_limit_of_trials(strategy: str) -> None:
    cell = run_virtual(strategy, Clockwork(), trainings=50.0, max_trials=6)
    ended = [end for end in cell.ends() if end.status != "cut"]
    assert len(ended) == 6 and cell.record.status == "completed"
    assert cell.record.reason.startswith("the limit of 6 trials was reached after ")
    held = cell.record.held_device_seconds
    assert sum(row.device_seconds for row in cell.record.ledger) == pytest.approx(held)


def run(*words: object, before: Callable[[], None] | None = None) -> tuple[int, str]:
    command: list[object] = [
        sys.executable, "-m", "harness", "run", "--executor", "virtual", "--benchmark-file", TOYS,
        "--strategies", "random/fifo", *words,
    ]  # fmt: skip
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=240,
        preexec_fn=before,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.cluster
def test_a_study_stops_and_goes_on(tmp_path: Path, cluster: RayCluster) -> None:
    """First by time, as the second seed's cell waits (on a busy machine the first may not be done
    by then); then by a disk as good as full."""
    gate, out = tmp_path / "gate", tmp_path / "study"
    words: list[object] = [
        "--benchmark", "held_clockwork", "--benchmark-option", f"gate={gate}", "--seeds", 2,
        "--budget", 0.5, "--address", cluster.address, "--out", out,
    ]  # fmt: skip
    code, told = run(*words, "--max-hours", 6 / 3600)
    assert code == STOPPED_EXIT_CODE, told
    assert re.search(r"--max-hours\) are over: [01] of 2 cells are done and kept. Go on", told), (
        told
    )
    assert "report so far: " in told and "Traceback" not in told
    kept = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/cell.json")}
    assert len(kept) < 2

    gate.touch()
    (out / "report.html").unlink()
    code, told = run(*words, before=no_file_above_4_kilobytes)
    assert code == STOPPED_EXIT_CODE, told
    assert "stopped: a disk is full" in told and "no report: " in told
    assert "Traceback" not in told
    assert not list(out.rglob(".*.????????")), "no part of a file is left"

    code, told = run(*words, "--max-hours", 1)
    assert code == 0, told
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(out.glob("cells/*/cell.json"))) == 2


def no_file_above_4_kilobytes() -> None:
    """As a full disk, for what this process writes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
