"""A small run folder with every way in which a trial can end, and an MLflow server."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.contract.records import BenchmarkRecord, Incumbent, ParameterRecord, Parent
from tests.reports.make_run import Event, cell, end, report, study, write_cell, write_study

WAIT_S = 240
"""For another process, on a machine that may be busy."""

SPACE = {
    "lr": ParameterRecord(type="float", low=1e-5, high=1.0, log=True, mutable=True),
    "momentum": ParameterRecord(type="float", low=0.0, high=0.99),
    "depth": ParameterRecord(type="integer", low=1, high=8),
    "width": ParameterRecord(type="integer", low=16, high=512, log=True),
    "optimizer": ParameterRecord(type="categorical", choices=["sgd", "adam", None]),
}
SGD = {"lr": 0.1, "momentum": 0.9, "depth": 3, "width": 64, "optimizer": "sgd"}
ADAM = {"lr": 0.001, "depth": 8, "width": 512, "optimizer": "adam"}
"""Without the conditional parameter."""
BEYOND = SGD | {"lr": 1.2}
"""PBT left the space."""

ASHA, PBT = ("random/asha", 0), ("pbt", 0)

ASHA_EVENTS: list[Event] = [
    report(0, 1, 0.5, 2.0, config=SGD, is_incumbent=True, rung=1),
    report(1, 1, 0.4, 3.0, "stop", config=ADAM),
    end(1, 1, "stopped", config=ADAM, told_score=0.4, at_s=3.0),
    report(0, 2, 0.7, 4.0, config=SGD, is_incumbent=True),
    report(0, 3, 0.6, 6.0, "finish", config=SGD),
    end(0, 3, "finished", config=SGD, told_score=0.6, at_s=6.0),
    report(2, 1, 0.3, 8.0, config=ADAM),
    end(2, 1, "failed", config=ADAM, retried=True, reason="ValueError: no", at_s=9.0),
    end(2, 1, "failed", config=ADAM, attempt=1, reason="ValueError: <b>no</b>", at_s=10.0),
    report(3, 1, math.nan, 12.0, "diverged", config=SGD),
    end(3, 1, "diverged", config=SGD, told_score=0.3, at_s=12.0),
    report(4, 1, 0.2, 14.0, config=SGD),
    end(4, 1, "cut", config=SGD, at_s=15.0),
    end(5, 0, "cut", config=ADAM, at_s=15.0),
]
PBT_EVENTS: list[Event] = [
    report(0, 1, 0.5, 2.0, "pause", config=SGD, is_incumbent=True),
    report(1, 1, 0.1, 3.0, "exploit", config=SGD | {"lr": 0.5}),
    report(1, 2, 0.8, 5.0, config=BEYOND, parent=Parent(trial=0, epoch=1), is_incumbent=True),
    report(1, 3, 0.9, 6.0, "finish", config=BEYOND, is_incumbent=True),
    end(1, 3, "finished", config=BEYOND, at_s=6.0),
    end(0, 1, "cut", config=SGD, at_s=7.0),
]


def trial_count(events: list[Event]) -> int:
    return len({event.trial for event in events})


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "mine")


def make_run_folder(folder: Path) -> Path:
    """Two finished cells and one that has not been run."""
    record = study(("random/asha", "pbt", "optuna/fifo"))
    benchmark = BenchmarkRecord(**record.benchmark.model_dump(exclude={"space"}), space=SPACE)
    write_study(folder, record.model_copy(update={"benchmark": benchmark}))
    for (strategy, seed), events in ((ASHA, ASHA_EVENTS), (PBT, PBT_EVENTS)):
        best = next(e for e in reversed(events) if getattr(e, "is_incumbent", False))
        incumbent = Incumbent(**best.model_dump(include=set(Incumbent.model_fields)))
        settings = {"grace": 1, "factor": 3.0, "nested": {"a": [1]}}
        fields = cell(strategy, seed, incumbent=incumbent, settings=settings)
        write_cell(folder, fields, events)
    (folder / "report.html").write_text("<p>the report</p>")
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server(command: Callable[[int], list[str]], path: str, log: Path) -> Iterator[str]:
    """A script of the environment, serving on a free port of the loopback; yields its URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    script, *arguments = command(port)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / script), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | quiet,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                urllib.request.urlopen(url + path, timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                assert process.poll() is None and time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="session")
def mlflow_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real MLflow server with SQLite behind it."""
    folder = tmp_path_factory.mktemp("mlflow")

    def command(port: int) -> list[str]:
        return [
            *("mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
            *("--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"),
            *("--artifacts-destination", str(folder / "artifacts")),
        ]

    with server(command, "/health", folder / "log.txt") as url:
        yield url
