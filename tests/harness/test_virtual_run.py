"""``run --executor virtual`` as a user types it: mistakes, Ctrl-C, and the same bytes again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from typer.testing import CliRunner

import harness.runner
from harness.cli import app
from harness.cluster.ray_cluster import RayCluster
from harness.contract import UsageError
from harness.contract.records import StudyRecord, Summary
from harness.virtual.costs import read_costs
from harness.virtual.executor import VirtualExecutor
from reports.store import cell_slug, read_study
from tests.harness.leaking_benchmark import PASSWORD, URL
from tests.harness.virtual_cells import costs, run_virtual
from tests.harness.virtual_strategy import STRATEGY
from tests.harness.virtual_toys import Clockwork

TOYS = Path(__file__).with_name("virtual_toys.py")
STRATEGY_FILE = Path(__file__).with_name("virtual_strategy.py")
WAIT_S = 240
"""For another process, on a machine that may be busy."""

COSTS = costs(setup=30.0, actor_start=3.0, reset=0.04, save=0.02, suggestion=0.005).model_dump()


# Mistakes ---------------------------------------------------------------------------------------


def usage_error(*words: object) -> str:
    """The message of a ``run`` that is refused; ``main`` prints it and exits with code 2."""
    words = ("--executor", "virtual", *words)
    result = CliRunner().invoke(app, ["run", *map(str, words)])
    assert isinstance(result.exception, UsageError), (result.output, result.exception)
    assert result.exception.exit_code == 2
    return str(result.exception)


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """``run`` up to where it would start a cell, with an executor that needs no cluster."""

    @contextlib.contextmanager
    def executor(config: Any, log: Path) -> Iterator[VirtualExecutor]:
        yield VirtualExecutor(1, read_costs(config.costs), is_deterministic=True)

    monkeypatch.setattr(harness.runner, "open_executor", executor)
    monkeypatch.setattr(VirtualExecutor, "run", lambda *_: pytest.fail("it was not refused"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.glob("runs/*/study.json")), "nothing is begun"


TOY = ["--benchmark-file", TOYS, "--benchmark", "clockwork", "--strategies", "random/fifo"]
BAD = ["--benchmark-file", TOYS, "--benchmark", "bad_declaration", "--strategies", "random/fifo"]


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (["--devices", 0], ["devices", "greater than or equal to 1"]),
        (["--seeds", "one"], ["seeds must be"]),
        (["--seeds", "-1,"], ["seeds must be"]),
        (["--charge-searcher", "maybe"], ["charge-searcher", "'fixed' or 'measured'", "'maybe'"]),
        (["--storage", "s3://bucket"], ["--storage is for --executor cluster"]),
        (["--executor", "cluster", "--devices", 8], ["--devices is for --executor virtual"]),
        (["--executor", "cluster", "--costs", "x"], ["--costs is for --executor virtual"]),
        ([*TOY, "--budget", 0.001], ["too small for one epoch", "at least --budget 0.0223"]),
        (
            [*TOY, "--devices", 2, "--workers-per-trial", 3],
            ["3 workers × 1 CPU = 3 CPU, but the cluster has 2 CPU", "smaller --workers-per-trial"],
        ),
        ([*TOY, "--devices-per-worker", 1.5], ["--devices-per-worker 1.5", "whole number"]),
        ([*BAD, "--benchmark-option", "declares=nan"], ["seconds above 0; it gave nan"]),
        ([*BAD, "--benchmark-option", "declares=-1"], ["seconds above 0; it gave -1"]),
        ([*BAD, "--benchmark-option", "declares=inf"], ["seconds above 0; it gave inf"]),
        (
            [*BAD, "--benchmark-option", "declares=raise"],
            ["it gave RuntimeError: nobody measured this"],
        ),
    ],
    ids=lambda given: " ".join(str(word) for word in given[-2:]),
)
def test_a_mistake_is_one_message(
    words: list[object], messages: list[str], without_ray: Path
) -> None:
    told = usage_error(*words)
    assert all(message in told for message in messages), told


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read --costs costs.json: No such file"),
        ("{", "costs.json is not valid JSON"),
        ("[1]", "costs.json does not hold virtual costs"),
        (json.dumps({**COSTS, "format_version": 2}), "format_version: input should be 1"),
        (json.dumps({**COSTS, "reset_seconds": -1}), "reset_seconds: input should be greater"),
        (json.dumps({**COSTS, "reset_seconds": "NaN"}), "reset_seconds: input should be"),
        (json.dumps({**COSTS, "rest_seconds": 1}), "rest_seconds: extra inputs"),
        (
            json.dumps({k: v for k, v in COSTS.items() if k != "save_seconds"}),
            "save_seconds: field required",
        ),
    ],
)
def test_costs_that_are_none(content: str | None, message: str, without_ray: Path) -> None:
    if content is not None:
        Path("costs.json").write_text(content)
    told = usage_error(*TOY, "--costs", "costs.json")
    assert message in told and "\n" not in told


def test_an_empty_field_of_a_file_is_one_not_given(without_ray: Path) -> None:
    Path("study.yaml").write_text("executor: virtual\ndevices:\nbudget: 0.001\n")
    told = usage_error(*TOY, "--config", "study.yaml")
    assert "× 8 slot(s) held" in told, "the default number of devices"


def test_what_is_recorded_of_the_executor() -> None:
    assert VirtualExecutor(2, read_costs(None), is_deterministic=False).study_fields() == {
        "executor": "virtual", "is_deterministic": False, "costs": read_costs(None).model_dump(),
    }  # fmt: skip


# Real runs --------------------------------------------------------------------------------------


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "harness", "run", "--executor", "virtual", *map(str, words)]


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words),
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
        env={**os.environ, **environment},
    )


def wait_until(is_so: Any, what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


class Nothing:
    """An actor that only holds cores."""

    def is_there(self) -> bool:
        return True


@pytest.fixture
def one_core(cluster: RayCluster) -> Iterator[str]:
    """The address of a cluster of which one core is free."""
    holder = ray.remote(num_cpus=cluster.cores - 1)(Nothing).remote()
    assert ray.get(holder.is_there.remote())
    yield cluster.address
    ray.kill(holder)


def results(out: Path) -> dict[str, bytes]:
    """What must be the same again, byte for byte."""
    names = ["results.parquet", "summary.json", "cells/*/events.jsonl", "cells/*/cell.json"]
    names += ["cells/*/incumbent/incumbent.json", "cells/*/retrained.json"]
    found = [path for name in names for path in sorted(out.glob(name))]
    return {str(path.relative_to(out)): path.read_bytes() for path in found}


def page(out: Path) -> str:
    """The report without what says where and when it was made."""
    text = (out / "report.html").read_text().replace(str(out), "OUT").replace(out.name, "OUT")
    text = re.sub(r"--address \S+ |&#34;address&#34;: [^,]*,", "", text)
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d\+00:00)?", "TIME", text)


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_the_same_bytes_on_other_cores_and_after_an_interruption_and_a_kill(
    tmp_path: Path, one_core: str
) -> None:
    """First on all cores of a Ray of its own; then on one core of another, interrupted when the
    cells of the first seed are done, killed as it goes on, and gone on with again. Strategy and
    benchmark come from files."""
    gate, file_of_costs = tmp_path / "gate", tmp_path / "costs.json"
    gate.touch()
    file_of_costs.write_text(json.dumps(COSTS))
    faults = "none,raise_once,nan"
    words: list[object] = [
        "--strategies", "optuna/asha,hyperopt/asha,pbt,four-points/fifo",
        "--strategy-file", STRATEGY_FILE,
        "--benchmark", "held_clockwork", "--benchmark-file", TOYS,
        "--benchmark-option", f"faults={faults}", "--benchmark-option", f"gate={gate}",
        "--seeds", 2, "--devices", 3, "--budget", 0.3, "--costs", file_of_costs, "--retrain", 2,
    ]  # fmt: skip
    first, second = tmp_path / "study-1", tmp_path / "study-2"
    done = run(*words, "--out", first, PYTHONHASHSEED="1")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Traceback" not in done.stderr

    gate.unlink()
    elsewhere = [*words, "--out", second, "--address", one_core]
    process = subprocess.Popen(
        command(*elsewhere),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "2"},
        # A job in the background of a shell ignores Ctrl-C, and so would the child of these tests.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    wait_until(
        lambda: len(list(second.glob("cells/*/cell.json"))) == 4 or process.poll() is not None,
        "the cells of the first seed were not finished",
    )
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, errors + output
    assert "4 of 8 cells are done and kept. Go on with:" in output
    assert "Traceback" not in errors
    assert not psutil.wait_procs(children, timeout=20)[1]
    wait_until(
        lambda: ray.available_resources().get("CPU", 0.0) == 1.0, "a task was left on the cluster"
    )

    kept = {path: path.stat().st_mtime_ns for path in second.glob("cells/*/cell.json")}
    gate.touch()
    with subprocess.Popen(command(*elsewhere), stdout=subprocess.DEVNULL) as process:
        wait_until(
            lambda: len(list(second.glob("cells/*/cell.json"))) > 4 or process.poll() is not None,
            "no cell of the second seed was finished",
        )
        process.kill()
    assert process.returncode == -signal.SIGKILL, "it was done before it was killed"
    assert not (second / "results.parquet").exists()
    done = run(*elsewhere, PYTHONHASHSEED="3")
    assert done.returncode == 0, done.stderr + done.stdout
    assert f"going on with {second}" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in kept} == kept

    ours, theirs = results(first), results(second)
    assert set(ours) == set(theirs) and len(ours) == 2 + 4 * 8
    assert [name for name in ours if ours[name] != theirs[name]] == []
    assert page(first) == page(second)

    study = StudyRecord.model_validate_json((first / "study.json").read_text())
    assert (study.executor, study.is_deterministic, study.costs) == ("virtual", True, COSTS)
    assert (study.devices.slots, study.devices.model) == (3, "virtual")
    summary = Summary.model_validate_json((first / "summary.json").read_text())
    four = summary.strategies["four-points/fifo"]["0"]
    assert four.trials == 4 and four.reason.startswith("the searcher ended after")
    # And in this process, in another order, without a task.
    settings: dict[str, Any] = {"slots": 3, "seconds": 0.3 * 3600 / 3, "max_same_failures": 3}
    for strategy in (STRATEGY, "pbt", "hyperopt/asha", "optuna/asha"):
        for seed in (1, 0):
            cell = run_virtual(
                strategy, Clockwork(faults=faults), costs=read_costs(file_of_costs), seed=seed,
                **settings,
            )  # fmt: skip
            name = strategy if isinstance(strategy, str) else strategy.name
            folder = f"cells/{cell_slug(name, seed)}"
            assert ours[f"{folder}/events.jsonl"] == cell.events
            assert (
                ours[f"{folder}/cell.json"]
                == cell.record.model_dump_json(indent=2).encode() + b"\n"
            )


@pytest.mark.cluster
def test_a_decision_is_written_down_when_all_cells_are_done(
    tmp_path: Path, cluster: RayCluster
) -> None:
    """With the file that ``init`` writes, as it is, beside the flags."""
    out, file = tmp_path / "study", tmp_path / "study.yaml"
    assert CliRunner().invoke(app, ["init", str(file)]).exit_code == 0
    words = [*TOY, "--budget", 0.05, "--out", out, "--address", cluster.address, "--config", file]
    done = run(*words, "--goal", "to see time pass")
    assert done.returncode == 0, done.stderr + done.stdout
    cells = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/cell.json")}
    (out / "report.html").unlink()
    decisions = ["--decision", "it's random search,", "--decision", f"as {URL} says"]
    done = run(*words, *decisions, "--targets", 9)
    assert done.returncode == 0, done.stderr + done.stdout
    assert f"going on with {out}" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in cells} == cells and len(cells) == 1
    assert (out / "report.html").exists()
    study = read_study(out)
    assert (study.goal, study.benchmark.targets) == ("to see time pass", [9.0])
    assert study.decisions == ["it's random search,", "as s3://***@bucket.example/run says"]
    files = [path for path in out.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
    assert PASSWORD not in done.stdout + done.stderr
    assert shlex.join(["--goal", "to see time pass"]) in study.command
    assert shlex.join(["--decision", "it's random search,"]) in study.command
    best = CliRunner().invoke(app, ["best", str(out)])
    assert "a virtual run of clockwork has no weights" in best.output


@pytest.mark.cluster
def test_cells_that_cannot_start_say_why(tmp_path: Path, cluster: RayCluster) -> None:
    words = ["--benchmark", "no_session", "--benchmark-file", TOYS, "--strategies", "random/fifo"]
    done = run(*words, "--out", tmp_path / "study", "--address", cluster.address)
    assert done.returncode == 1, done.stderr + done.stdout
    assert "failed: random/fifo seed 0: OSError: no disk here; see " in done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    (log,) = (tmp_path / "study").glob("cells/*/log.txt")
    assert "Traceback" in log.read_text()
    assert (tmp_path / "study" / "report.html").exists()
