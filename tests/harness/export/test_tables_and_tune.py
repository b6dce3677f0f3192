"""CSV, Parquet, and Ray Tune's own ``ResultGrid``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from ray import tune
from typer.testing import CliRunner

from harness.cli import app
from harness.contract import UsageError
from harness.export.export import export_run
from harness.export.targets import parse_target
from reports.store import cell_folder
from tests.harness.export.conftest import ASHA, ASHA_EVENTS, BEYOND, PBT_EVENTS, SGD, trial_count


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_row_per_trial_and_per_epoch(run_folder: Path, tmp_path: Path, form: str) -> None:
    read = pd.read_csv if form == "csv" else pd.read_parquet
    export_run(run_folder, parse_target(f"{form}:{tmp_path}"))
    trials, epochs = read(tmp_path / f"trials.{form}"), read(tmp_path / f"epochs.{form}")
    assert len(trials) == trial_count(ASHA_EVENTS) + trial_count(PBT_EVENTS)
    first = trials.iloc[0]
    assert (first["strategy"], first["seed"], first["trial"]) == ("random/asha", 0, 0)
    assert (first["status"], first["epochs_run"]) == ("finished", 3)
    assert first["best_validation_score"] == 0.7 and first["last_validation_score"] == 0.6
    assert {name: first[f"config/{name}"] for name in SGD} == SGD
    changed = trials[(trials["strategy"] == "pbt") & (trials["trial"] == 1)].iloc[0]
    assert changed["config/lr"] == BEYOND["lr"]
    never = trials[(trials["strategy"] == "random/asha") & (trials["trial"] == 5)].iloc[0]
    assert never["epochs_run"] == 0 and pd.isna(never["best_validation_score"])
    assert never["config/depth"] == 8
    assert len(epochs) == sum(event.type == "report" for event in ASHA_EVENTS + PBT_EVENTS)
    assert list(epochs["validation_score"][:3]) == [0.5, 0.4, 0.7]


def test_a_whole_number_stays_one(run_folder: Path) -> None:
    export_run(run_folder, parse_target("csv"))
    text = pd.read_csv(run_folder / "tables" / "epochs.csv", dtype=str)
    assert list(text["rung"].dropna()) == ["1"]


def test_rays_own_result_grid(run_folder: Path) -> None:
    incumbent = cell_folder(run_folder, *ASHA) / "incumbent"
    incumbent.mkdir()
    (incumbent / "state.pt").write_bytes(b"weights")
    for _ in range(2):  # the second replaces the first
        export_run(run_folder, parse_target("tune"))
    folder = run_folder / "tune" / "random-asha--seed-0"
    grid = tune.ResultGrid(tune.ExperimentAnalysis(folder))
    assert len(grid) == trial_count(ASHA_EVENTS)
    assert (grid.num_errors, grid.num_terminated) == (1, 5)
    assert [str(error).strip() for error in grid.errors] == ["ValueError: <b>no</b>"]
    best = grid.get_best_result("validation_accuracy", "max")
    assert best.config == SGD
    assert best.metrics is not None and best.metrics["validation_accuracy"] == 0.6
    assert best.metrics_dataframe is not None
    assert list(best.metrics_dataframe["validation_accuracy"]) == [0.5, 0.7, 0.6]
    ((checkpoint, metrics),) = best.best_checkpoints
    assert metrics["validation_accuracy"] == 0.7 and metrics["training_iteration"] == 2
    with checkpoint.as_directory() as there:
        assert (Path(there) / "state.pt").read_bytes() == b"weights"
    assert list(grid.get_dataframe()["validation_accuracy"].dropna()) == [0.4, 0.6, 0.3, 0.2]


def test_tune_does_not_remove_what_is_not_its_own(run_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "random-asha--seed-0"
    other.mkdir(parents=True)
    (other / "thesis.tex").touch()
    with pytest.raises(UsageError, match="holds other things"):
        export_run(run_folder, parse_target(f"tune:{tmp_path / 'other'}"))
    assert (other / "thesis.tex").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "exel"], "unknown target 'exel'"),
        (["--to", "csv", "--to", "optuna"], "optuna: takes a storage URL"),
    ],
)
def test_a_mistake_exports_nothing(run_folder: Path, words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["export", str(run_folder), *words])
    assert isinstance(result.exception, UsageError) and message in str(result.exception)
    assert not (run_folder / "tables").exists()


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    for name in ("mlflow", "csv", "tune", "optuna:sqlite:///a.db"):
        with pytest.raises(UsageError, match="is not a run folder"):
            export_run(tmp_path, parse_target(name))


def test_trackers_need_neither_ray_nor_torch(run_folder: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from harness.cli import app
app(["export", {str(run_folder)!r}, "--to", "tensorboard", "--to", "csv"], standalone_mode=False)
print(sorted({{"ray", "torch", "mlflow", "wandb"}} & sys.modules.keys()))
"""
    folder = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=folder, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"
