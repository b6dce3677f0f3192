"""``run --track``: followers in processes of their own, beside a run folder that grows."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import psutil
import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from harness.clock import MonotonicClock
from harness.contract.records import CellRecord
from harness.export.targets import parse_target
from harness.export.track import tracked
from reports.store import cell_folder, read_study, verify_cell
from tests.harness.export.conftest import (
    ASHA,
    WAIT_S,
    free_port,
)
from tests.harness.export.readers import mlflow_runs


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Growing:
    """A run folder whose first cell is being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cell = cell_folder(folder, *ASHA)
        self._events = (self._cell / "events.jsonl").read_bytes()
        self._record = (self._cell / "cell.json").read_bytes()
        (self._cell / "cell.json").unlink()
        self.write(1)

    def write(self, lines: int) -> None:
        content = b"".join(self._events.splitlines(keepends=True)[:lines])
        (self._cell / "events.jsonl").write_bytes(content)

    def finish(self) -> None:
        (self._cell / "events.jsonl").write_bytes(self._events)
        (self._cell / "cell.json").write_bytes(self._record)


@pytest.fixture
def growing(run_folder: Path) -> Growing:
    return Growing(run_folder)


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=200)


def printed(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_trial_can_be_watched_while_it_runs(growing: Growing, console: Console) -> None:
    trial = "tensorboard/*/random-asha--seed-0/trial-00000"

    def epochs() -> list[int]:
        for folder in growing.folder.glob(trial):
            found = EventAccumulator(str(folder))
            found.Reload()
            if "validation_accuracy" in found.Tags()["scalars"]:
                return [point.step for point in found.Scalars("validation_accuracy")]
        return []

    with tracked([parse_target("tensorboard")], growing.folder, console, MonotonicClock()):
        wait_for(lambda: epochs() == [1])
        growing.write(4)
        wait_for(lambda: epochs() == [1, 2])
        growing.finish()
    assert epochs() == [1, 2, 3]
    assert printed(console).strip() == "tracked: tensorboard"


def test_one_that_never_answers_is_ended(
    growing: Growing, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that hangs, here stopped by a signal, does not hold the run's end for ever."""
    monkeypatch.setattr("harness.export.track.FLUSH_S", 1.0)
    monkeypatch.setattr("harness.export.track.GRACE_S", 1.0)
    before = set(psutil.Process().children())
    with tracked([parse_target("tensorboard")], growing.folder, console, MonotonicClock()):
        (follower,) = set(psutil.Process().children()) - before
        follower.suspend()
    assert not follower.is_running()
    assert "not all results are in tensorboard; push them with:" in printed(console)


def test_the_follower_ends_when_the_run_is_killed(growing: Growing) -> None:
    """It pushes what is there, and leaves nothing of itself."""
    script = f"""
import time
from pathlib import Path
from rich.console import Console
from harness.clock import MonotonicClock
from harness.export.targets import parse_target
from harness.export.track import tracked
target = parse_target("tensorboard")
with tracked([target], Path({str(growing.folder)!r}), Console(), MonotonicClock()):
    print("up", flush=True)
    time.sleep(1000)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    (follower,) = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    wait_for(lambda: not follower.is_running() or follower.status() == psutil.STATUS_ZOMBIE)
    assert list(growing.folder.glob("tensorboard/*/random-asha--seed-0/trial-00000/events*"))


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_a_run_with_a_tracker_that_is_down(
    tmp_path: Path, mlflow_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once, without the password; what the message says to type pushes everything."""
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "down")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.chdir(tmp_path)
    down = f"127.0.0.1:{free_port()}"
    out = tmp_path / "study"
    words = ["--executor", "virtual", "--benchmark", "noisy_quadratic", "--budget", "0.05"]
    words += ["--strategies", "random/asha", "--out", str(out)]
    words += ["--track", "tensorboard", "--track", f"mlflow:http://me:s3cret@{down}"]
    done = subprocess.run(
        [sys.executable, "-m", "harness", "run", *words],
        capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tracked: tensorboard" in done.stdout
    assert list(out.glob("tensorboard/*/*/trial-00000/events*"))
    assert list(out.glob("tensorboard/*/report.html"))
    assert done.stdout.count("takes no results; the run goes on without it") == 1
    (command,) = (line.strip() for line in done.stdout.splitlines() if "harness export" in line)
    assert f"--to mlflow:http://{down}" in command
    assert "s3cret" not in done.stdout + done.stderr
    for file in out.rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes(), file
    record = read_study(out)
    assert "--track tensorboard" in record.command and "track" not in record.study

    words = shlex.split(command.replace(f"http://{down}", mlflow_url))
    pushed = subprocess.run(
        [sys.executable, *words[1:]], capture_output=True, text=True, timeout=WAIT_S
    )
    assert f"are in mlflow:{mlflow_url}" in pushed.stdout, pushed.stderr
    runs = mlflow_runs(mlflow_url, "down").values()
    cell = verify_cell(cell_folder(out, "random/asha", 0))
    assert isinstance(cell, CellRecord)
    assert len(runs) == 2 + sum(cell.trials.values())
