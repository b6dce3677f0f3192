"""What trackers have, by their own readers."""

from __future__ import annotations

from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Run
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

from harness.export.mlflow import KEY


def read_tensorboard(folder: Path) -> EventMultiplexer:
    """Every event file below a folder; a run is named by its folder's path."""
    found = EventMultiplexer().AddRunsFromDirectory(str(folder))
    found.Reload()
    return found


def mlflow_runs(url: str, experiment: str) -> dict[str, Run]:
    """Every run of an experiment by its name; none is there twice."""
    client = MlflowClient(url)
    found = client.get_experiment_by_name(experiment)
    assert found is not None
    runs = client.search_runs([found.experiment_id])
    assert len({run.data.tags[KEY] for run in runs}) == len(runs), "a run twice"
    return {run.data.tags["mlflow.runName"]: run for run in runs}
