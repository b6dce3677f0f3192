"""Cases from the field, through the command: what is refused, said, and exited with.
See README.md."""

from __future__ import annotations

import os
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
