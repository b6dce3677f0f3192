"""``python -m harness run`` as a user types it: mistakes, Ctrl-C, going on, and the real thing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
from ray import tune
from typer.testing import CliRunner

from harness.cli import app
from harness.cluster.ray_cluster import RayCluster
from harness.contract import UsageError
from harness.contract.records import CellRecord, RetrainRecord, Summary
from harness.export.export import export_run
from harness.export.targets import parse_target
from reports.store import read_cell
from tests.harness.export.readers import read_tensorboard
from tests.harness.test_best import assert_scored_as_stored

TOY_FILE = Path(__file__).with_name("toy_benchmark.py")


def usage_error(*words: str) -> str:
    """The message of a ``run`` that is refused; ``main`` prints it and exits with code 2."""
    result = CliRunner().invoke(app, ["run", *words])
    assert isinstance(result.exception, UsageError), result.output
    assert result.exception.exit_code == 2
    return str(result.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--strategies", "optuna/ahsa"], "Did you mean 'optuna/asha'?"),
        (["--strategies", ","], "strategies"),
        (["--benchmark", "fashion_minst"], "Did you mean 'fashion_mnist'?"),
        (["--benchmark-option", "model=vit"], "'mlp' or 'cnn', not 'vit'"),
        (["--benchmark-option", "modell=cnn"], "Did you mean 'model'?"),
        (["--benchmark-option", "model"], "must be NAME=VALUE"),
        (["--budget", "0"], "greater than 0"),
        (["--budget", "nan"], "budget"),
        (["--seeds", "one"], "seeds must be"),
        (["--retrain", "-1"], "retrain: input should be greater than or equal to 0, not -1"),
        (["--executor", "gcp"], "executor"),
        (["--data-dir", "/nowhere"], "there is no train-images"),
        (["--out", "/proc/run"], "cannot be written"),
        (["--config", "/nowhere.yaml"], "cannot read --config"),
        (["--strategy-file", "/nowhere.py"], "no strategy file"),
    ],
)
def test_a_mistake_is_one_message(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in usage_error(*words)
    assert not list(tmp_path.glob("runs/*/study.json"))


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "run", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


@pytest.mark.cluster
def test_more_workers_than_the_cluster_has(cluster: RayCluster, tmp_path: Path) -> None:
    workers = 2 * int(cluster.devices.total)
    words = ["--workers-per-trial", workers, "--devices-per-worker", 1, "--out", tmp_path]
    done = run("--address", cluster.address, *words)
    assert done.returncode == 2, done.stderr
    total = int(cluster.devices.total)
    assert f"{workers} workers × 1 CPU = {workers} CPU, but the cluster has {total}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_incumbents_are_retrained_and_an_interruption_keeps_what_is_done(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """The toy's score has nothing to do with its seed."""
    out = tmp_path / "study"
    words = ["--strategies", "random/fifo", "--benchmark", "toy", "--benchmark-file", TOY_FILE]
    words += ["--benchmark-option", "epoch_seconds=0.4", "--benchmark-option", "max_epochs=4"]
    words += ["--workers-per-trial", 1, "--max-concurrent", 1, "--budget", 0.003, "--out", out]
    words += ["--address", cluster.address, "--retrain", 3, "--track", "tensorboard"]
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "run", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    file = out / "cells" / "random-fifo--seed-0" / "retrained.json"
    deadline = time.monotonic() + 240
    while not file.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "1 of 1 cells are done and kept. Go on with:" in output and "--retrain 3" in output
    assert "Traceback" not in errors
    before = RetrainRecord.model_validate_json(file.read_bytes())
    assert 1 <= len(before.retrainings) < 3

    done = run(*words)
    assert done.returncode == 0, done.stderr + done.stdout
    left = 3 - len(before.retrainings)
    assert f"outside the budget: {left} training(s); {3 - left} are kept" in done.stdout
    assert f"retraining {left} of {left}: random/fifo seed 0, with seed 3" in done.stdout
    best = CellRecord.model_validate_json((file.parent / "cell.json").read_bytes()).incumbent
    assert best is not None
    after = RetrainRecord.model_validate_json(file.read_bytes())
    assert (after.trial, after.epoch) == (best.trial, best.epoch)
    assert after.retrainings[: len(before.retrainings)] == before.retrainings
    scores = (best.validation_score, best.test_score)
    assert [(r.seed, r.validation_score, r.test_score) for r in after.retrainings] == [
        (seed, *scores) for seed in (1, 2, 3)
    ]
    assert not (out / "storage").exists(), "checkpoints were left behind"

    # Each of the two runs was followed; the second one went on with what the first had written.
    assert "tracked: tensorboard" in output and "tracked: tensorboard" in done.stdout
    cell = read_cell(file.parent)
    tensorboard = read_tensorboard(out / "tensorboard")
    for trial in {report.trial for report in cell.reports}:
        (name,) = (run for run in tensorboard.Runs() if run.endswith(f"/trial-{trial:05d}"))
        scores = [r.validation_score for r in cell.reports if r.trial == trial]
        assert [p.value for p in tensorboard.Scalars(name, "score")] == pytest.approx(scores)
    # Ray's own view of the cell.
    export_run(out, parse_target("tune"))
    grid = tune.ResultGrid(tune.ExperimentAnalysis(out / "tune" / "random-fifo--seed-0"))
    assert len(grid) == len([end for end in cell.ends if not end.retried])
    found = grid.get_best_result("score", "max", scope="all")
    assert found.config == best.config and found.checkpoint is not None
    with found.checkpoint.as_directory() as folder:
        state = Path(folder) / "state.pt"
        assert state.read_bytes() == (file.parent / "incumbent" / "state.pt").read_bytes()


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_interrupted_and_gone_on_with_on_real_data(cluster: RayCluster, tmp_path: Path) -> None:
    """Two strategies on FashionMNIST; Ctrl-C in the second cell, then the same command again."""
    out = tmp_path / "study"
    words = ["--strategies", "random/asha,pbt", "--budget", "0.008", "--out", str(out)]
    first, second = (out / "cells" / name for name in ("random-asha--seed-0", "pbt--seed-0"))
    command = [sys.executable, "-m", "harness", "run", *words]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background of a shell ignores Ctrl-C, and so would the child of these tests.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 240
    while not (second / "events.jsonl").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "1 of 2 cells are done and kept. Go on with:" in output
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive, "processes were left behind"

    kept = (first / "cell.json").read_bytes()
    done = run(*words)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "random/asha seed 0: kept from before" in done.stdout
    assert (first / "cell.json").read_bytes() == kept
    assert (second / "earlier" / "1" / "events.jsonl").exists()
    assert not (out / "storage").exists(), "checkpoints were left behind"
    report = Path(done.stdout.rsplit("report: ", 1)[1].strip())
    assert report == out / "report.html" and report.stat().st_size > 50_000

    summary = Summary.model_validate_json((out / "summary.json").read_text())
    for strategy in ("random/asha", "pbt"):
        row = summary.strategies[strategy]["0"]
        assert row.status == "completed"
        assert row.best_validation is not None and row.best_validation > 0.5
        assert row.test_of_incumbent is not None and row.test_of_incumbent > 0.5
        total = sum(row.device_seconds_by_kind.values())
        assert total == pytest.approx(row.device_seconds_held, rel=0.01)
        assert row.device_seconds_held == pytest.approx(0.008 * 3600, rel=0.001)
    study = json.loads((out / "study.json").read_text())
    assert study["versions"]["ray"].startswith("2.60")
    assert study["benchmark"]["dataset_sha256"]

    for strategy in ("random/asha", "pbt"):
        assert_scored_as_stored(out, strategy)

    other = run(*words, "--seeds", "0,1", "--address", cluster.address)
    assert other.returncode == 2
    assert "another configuration" in other.stderr and "seeds" in other.stderr
