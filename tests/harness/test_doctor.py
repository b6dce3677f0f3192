"""``doctor``: here, where something is missing or broken, and its single checks."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fashion_mnist import data
from harness.doctor import machine, software
from harness.doctor.finding import Diagnosis, Finding, note, ok, problem
from harness.doctor.packages import declared

ROOT = Path(__file__).parents[2]


def doctor(python: Path | str, *words: str, cwd: Path = ROOT, **environment: str) -> Any:
    done = subprocess.run(
        [str(python), "-m", "harness", "doctor", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def environment(folder: Path, without: set[str]) -> Path:
    """A virtual environment with all that this one has except some packages; its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if entry.name.split("-")[0] not in without and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def by_topic(output: str) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for fields in json.loads(output)["findings"]:
        finding = Finding.model_validate(fields)
        found.setdefault(finding.topic, []).append(finding)
    return found


def test_a_machine_without_ray_and_torch(tmp_path: Path) -> None:
    """A real environment without them: told, with the command that installs them."""
    python = environment(tmp_path / "venv", {"ray", "torch", "torchvision", "optuna"})
    done = doctor(python, "--json")
    assert done.returncode == 1, done.stdout
    assert json.loads(done.stdout)["run_would_work"] is False
    found = by_topic(done.stdout)
    for name in ("ray", "torch", "torchvision"):
        (finding,) = found[name]
        assert (finding.level, finding.found) == ("problem", "not installed")
        assert finding.to_do is not None and finding.to_do.startswith("pip install ")
    assert found["ray"][0].to_do is not None and "ray[" in found["ray"][0].to_do
    assert found["optuna"][0].level == "note", "the other strategies run without it"
    assert found["FashionMNIST"][0].level == "note", "not looked for, as that needs torch"
    assert all(f.to_do for findings in found.values() for f in findings if f.level == "problem")


def test_a_library_that_hangs_and_one_that_kills_the_process(tmp_path: Path) -> None:
    """The checks after the one that kills go on; what hangs is ended at the limit."""
    python = environment(tmp_path / "venv", {"torch", "torchvision"})
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "torch.py").write_text("import os\nprint('noise')\nos.kill(os.getpid(), 11)\n")
    (site / "torchvision.py").write_text("import time\ntime.sleep(10**6)\n")
    before = time.monotonic()
    done = doctor(python, "--json", "--limit", "12")
    assert time.monotonic() - before < 60
    assert done.returncode == 1
    found = by_topic(done.stdout)
    assert "signal 11" in found["import torch"][0].found
    assert "did not end within" in found["import torchvision"][0].found
    assert "GPUs" in found["time"][0].found and found["time"][0].to_do
    assert found["Ray's files"][0].level == "ok", "what was looked at before is told"


def test_what_every_command_needs_is_one_line(tmp_path: Path) -> None:
    python = environment(tmp_path / "venv", {"pydantic"})
    done = doctor(python)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("error: No module named 'pydantic': pip install")
    assert len(done.stderr.strip().splitlines()) == 1


def test_this_machine_would_run() -> None:
    """What the suite's cluster tests rely on; every line is a level, a topic and a fact."""
    done = doctor(sys.executable)
    assert done.returncode == 0, done.stdout
    *lines, last = done.stdout.splitlines()
    assert last == "run would work" and "***" not in done.stdout
    assert all(line.split()[0] in ("ok", "note", "→") for line in lines)
    assert "ray 2.60" in done.stdout and "FashionMNIST: " in done.stdout
    assert "6 can be used" in done.stdout


def levels(findings: Iterator[Finding]) -> dict[str, str]:
    return {finding.topic: finding.level for finding in findings}


def test_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_TMPDIR", "/tmp")
    assert levels(machine.check_disks())["run folders"] in ("ok", "note")
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(long))
    (finding,) = (f for f in machine.check_disks() if f.level == "problem")
    assert "too long a path for Ray's sockets" in finding.found
    assert finding.to_do is not None and "RAY_TMPDIR" in finding.to_do
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "none"))
    assert levels(machine.check_disks())["Ray's files"] == "problem"


def test_the_longest_path_that_is_taken_is_one_that_a_socket_takes(tmp_path: Path) -> None:
    """The system's own limit on sockets' paths, which Ray checks in the same way."""
    short = Path("/tmp") / f"h{os.getpid()}"
    room = machine.LONGEST_SOCKET_PATH - len(str(short)) - 1
    short.mkdir()
    try:
        for extra, fits in ((0, True), (1, False)):
            with socket.socket(socket.AF_UNIX) as made:
                try:
                    made.bind(str(short / ("s" * (room + extra))))
                    bound = True
                except OSError:
                    bound = False
            assert bound == fits
    finally:
        shutil.rmtree(short)


def test_ray_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (finding,) = machine.check_ray_settings()
    assert finding.level == "ok" and "Ray makes the file" in finding.found
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "none"))
    assert levels(machine.check_ray_settings()) == {"Ray authentication": "problem"}
    secret = "0123456789abcdef" * 4
    monkeypatch.setenv("RAY_AUTH_TOKEN", secret)
    (finding,) = machine.check_ray_settings()
    assert finding.level == "ok" and secret not in finding.found
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert levels(machine.check_ray_settings()) == {
        "Ray cluster": "note",
        "Ray authentication": "note",
    }


def test_little_shared_memory_and_few_open_files(tmp_path: Path) -> None:
    assert levels(machine.check_shared_memory(tmp_path / "none")) == {"shared memory": "note"}
    code = (
        "from harness.doctor import machine; print([f.level for f in machine.check_open_files()])"
    )
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -n 256 && exec "$0" -c "$1"', sys.executable, code],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert limited.stdout.strip() == "['note']"


def test_data_that_is_nowhere_and_a_mirror_that_is_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchvision.datasets import FashionMNIST

    monkeypatch.setattr(data, "DEBIAN_DIR", tmp_path / "none")
    monkeypatch.setattr(data, "TORCHVISION_ROOT", tmp_path / "none")
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    monkeypatch.setattr(FashionMNIST, "mirrors", [f"http://127.0.0.1:{closed}/"])
    (finding,) = software.check_data()
    assert finding.level == "problem" and finding.to_do == data.WAYS
    assert "is not reached" in finding.found
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(
            FashionMNIST, "mirrors", [f"http://127.0.0.1:{server.getsockname()[1]}/"]
        )
        (finding,) = software.check_data()
    assert finding.level == "note" and "would download it" in finding.found


def test_what_the_project_declares() -> None:
    needed, extras = declared()
    names = {requirement.name for requirement in needed}
    assert {"ray", "torch", "pydantic", "packaging"} <= names
    assert "dev" not in extras and "" not in extras


def test_a_note_stops_nothing() -> None:
    assert Diagnosis(findings=[ok("a", "b"), note("c", "d")]).run_would_work
    assert not Diagnosis(findings=[ok("a", "b"), problem("c", "d", "e")]).run_would_work
