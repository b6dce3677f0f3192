"""Cases from the field, through the command: what is refused, said, and exited with.
See README.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.contract import UsageError
from harness.store import RunStore

TOYS = Path(__file__).parents[1] / "harness" / "virtual_toys.py"
VIRTUAL = ["--executor", "virtual", "--benchmark-file", str(TOYS)]


def refused(*words: object) -> str:
    """The message of a ``run`` that is refused; ``main`` prints it and exits with code 2."""
    result = CliRunner().invoke(app, ["run", *map(str, words)])
    assert isinstance(result.exception, UsageError), (result.output, result.exception)
    assert result.exception.exit_code == 2
    return str(result.exception)


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "run", *VIRTUAL, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, env={**os.environ})
    assert "Traceback" not in done.stderr + done.stdout
    return done


def test_case_01_ray_without_its_default_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ray#54305: refused before anything starts, saying what to install. (With the dashboard off:
    ``tests/harness/test_cluster_cases.py``.)"""
    monkeypatch.setitem(sys.modules, "opencensus", None)
    told = refused("--strategies", "random/fifo", "--out", tmp_path)
    assert 'pip install "ray[default,train,tune]"' in told
    assert not (tmp_path / "study.json").exists()


def test_case_26_two_runs_with_the_same_out(tmp_path: Path) -> None:
    """ray#35006: the second is refused while the first lives."""
    with RunStore(tmp_path).locked():
        told = refused(*VIRTUAL, "--benchmark", "clockwork", "--out", tmp_path)
    assert told == (
        f"--out {tmp_path} is in use by another run (process {os.getpid()}): "
        "wait for it, or give another --out"
    )


def test_case_27_an_empty_study_file(tmp_path: Path) -> None:
    """ray#58179, of the file that says what the study is."""
    (tmp_path / "study.json").touch()
    told = refused(*VIRTUAL, "--benchmark", "clockwork", "--out", tmp_path)
    assert "study.json is empty, as a crash may leave a file: put a copy of it back" in told


@pytest.mark.cluster
def test_cases_03_10_16_27_a_study_as_it_is_typed(tmp_path: Path) -> None:
    """ray#6780: rungs are printed, and one that is beyond the cap is warned of. ray#58179: a state
    file cut to 0 bytes: that cell is done again, and the reason is said. ray#27170: PBT without
    checkpoints. ray PR#26655: the exit code where every trial reported and then failed."""
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
