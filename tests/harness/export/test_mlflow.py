"""A real MLflow server with SQLite: whole, in part, again, and gone on with."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from mlflow import MlflowClient

from harness.export.export import export_run
from harness.export.feed import Feed
from harness.export.mlflow import MLflowSink
from harness.export.targets import parse_target
from reports.store import cell_folder
from tests.harness.export.conftest import ASHA, ASHA_EVENTS, PBT_EVENTS, SGD, trial_count
from tests.harness.export.readers import mlflow_runs


@pytest.fixture
def experiment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One per test: they share a server."""
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", request.node.name)
    return str(request.node.name)


def test_nested_runs_with_everything(mlflow_url: str, experiment: str, run_folder: Path) -> None:
    target = parse_target(f"mlflow:{mlflow_url}")
    count = 3 + trial_count(ASHA_EVENTS) + trial_count(PBT_EVENTS)
    assert export_run(run_folder, target).startswith(f"{count} runs")
    runs = mlflow_runs(mlflow_url, experiment)
    assert len(runs) == count
    study, cell = runs["mine"], runs["random/asha seed 0"]
    trial = runs["random/asha seed 0 trial 0"]
    assert cell.data.tags["mlflow.parentRunId"] == study.info.run_id
    assert trial.data.tags["mlflow.parentRunId"] == cell.info.run_id
    wanted = {
        "strategy": "random/asha",
        "seed": "0",
        "cell": "random-asha--seed-0",
        "study": "mine",
    }
    assert wanted.items() <= trial.data.tags.items()
    assert trial.data.params == {name: str(value) for name, value in SGD.items()}
    assert trial.data.metrics["best/validation_accuracy"] == 0.7
    client = MlflowClient(mlflow_url)
    history = client.get_metric_history(trial.info.run_id, "validation_accuracy")
    assert [(m.step, m.value) for m in history] == [(1, 0.5), (2, 0.7), (3, 0.6)]
    assert trial.info.end_time - trial.info.start_time == 5000
    statuses = {n: runs[f"random/asha seed 0 trial {n}"] for n in range(6)}
    assert {n: (run.info.status, run.data.tags["status"]) for n, run in statuses.items()} == {
        0: ("FINISHED", "finished"),
        1: ("FINISHED", "stopped"),
        2: ("FAILED", "failed"),
        3: ("FAILED", "diverged"),
        4: ("KILLED", "cut"),
        5: ("KILLED", "cut"),
    }
    assert math.isnan(statuses[3].data.metrics["validation_accuracy"])
    assert statuses[2].data.tags["reason"] == "ValueError: <b>no</b>"
    # The report is there to look at, with the study.
    client.download_artifacts(study.info.run_id, "report.html", str(run_folder.parent))
    assert (run_folder.parent / "report.html").read_text() == "<p>the report</p>"


def test_in_pieces_from_several_pushers(mlflow_url: str, experiment: str, run_folder: Path) -> None:
    """Each dies after another number of runs, and knows nothing of what was pushed before."""
    folder = cell_folder(run_folder, *ASHA)
    record, events = (folder / "cell.json").read_bytes(), (folder / "events.jsonl").read_bytes()
    (folder / "cell.json").unlink()
    lines = events.splitlines(keepends=True)
    for end, count in ((1, 2), (2, 4), (5, 100)):
        (folder / "events.jsonl").write_bytes(b"".join(lines[:end]))
        feed = Feed(run_folder)
        sink = MLflowSink(mlflow_url, feed.root)
        feed.look()
        for run in list(feed.pending())[:count]:
            sink.push(run)
    half = mlflow_runs(mlflow_url, experiment)
    assert half["random/asha seed 0 trial 0"].info.status == "RUNNING"
    assert half["random/asha seed 0 trial 1"].info.status == "FINISHED"

    (folder / "events.jsonl").write_bytes(events)
    (folder / "cell.json").write_bytes(record)
    for _ in range(2):
        export_run(run_folder, parse_target(f"mlflow:{mlflow_url}"))
    runs = mlflow_runs(mlflow_url, experiment)
    assert len(runs) == 3 + trial_count(ASHA_EVENTS) + trial_count(PBT_EVENTS)
    client = MlflowClient(mlflow_url)
    trial = runs["random/asha seed 0 trial 0"].info.run_id
    history = client.get_metric_history(trial, "device_seconds")
    assert [m.step for m in history] == [1, 2, 3]


def test_an_interrupted_study_goes_on(mlflow_url: str, experiment: str, run_folder: Path) -> None:
    folder = cell_folder(run_folder, *ASHA)
    record, events = (folder / "cell.json").read_bytes(), (folder / "events.jsonl").read_bytes()
    (folder / "cell.json").unlink()
    (folder / "events.jsonl").write_bytes(b"".join(events.splitlines(keepends=True)[:4]))
    target = parse_target(f"mlflow:{mlflow_url}")
    export_run(run_folder, target)
    before = mlflow_runs(mlflow_url, experiment)
    assert Counter(run.info.status for run in before.values())["RUNNING"] == 0
    assert before["random/asha seed 0 trial 0"].data.tags["status"] == "interrupted"

    (folder / "events.jsonl").write_bytes(events)
    (folder / "cell.json").write_bytes(record)
    export_run(run_folder, target)
    after = mlflow_runs(mlflow_url, experiment)
    trial = after["random/asha seed 0 trial 0"]
    assert trial.info.run_id == before["random/asha seed 0 trial 0"].info.run_id
    assert (trial.info.status, trial.data.tags["status"]) == ("FINISHED", "finished")
    history = MlflowClient(mlflow_url).get_metric_history(trial.info.run_id, "device_seconds")
    assert [m.step for m in history] == [1, 2, 3]


def test_names_that_mlflow_does_not_take(
    mlflow_url: str, experiment: str, run_folder: Path
) -> None:
    feed = Feed(run_folder)
    feed.root.parameters = {"a(b)": 1, "a[b]": 2, "long": "x" * 10_000}
    feed.root.parameters |= {f"p{number}": number for number in range(150)}
    MLflowSink(mlflow_url, feed.root).push(feed.root)
    params = mlflow_runs(mlflow_url, experiment)["mine"].data.params
    assert params["a_x28b_x29"] == "1" and params["a_x5bb_x5d"] == "2"
    assert len(params) == 153
