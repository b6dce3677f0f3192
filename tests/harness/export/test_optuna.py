"""Exported studies, read by Optuna and served by optuna-dashboard."""

from __future__ import annotations

import json
import math
import shutil
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from harness.contract import UsageError
from harness.export.export import export_run
from harness.export.optuna import optuna_study_name
from harness.export.targets import parse_target
from reports.store import cell_folder, read_study
from tests.harness.export.conftest import ADAM, ASHA, BEYOND, PBT, SGD, make_run_folder, server
from tests.reports.make_run import Event, cell, end, report, write_cell


@dataclass(frozen=True)
class Exported:
    """A run folder and the database that it was exported to."""

    run_folder: Path
    database: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.database}"

    def again(self) -> str:
        return export_run(self.run_folder, parse_target(f"optuna:{self.url}"))

    def study(self, key: tuple[str, int]) -> optuna.Study:
        name = optuna_study_name(read_study(self.run_folder), *key)
        return optuna.load_study(study_name=name, storage=self.url)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """To be read only."""
    folder = tmp_path_factory.mktemp("optuna")
    made = Exported(make_run_folder(folder / "mine"), folder / "study.db")
    assert made.again().startswith("2 studies, one per cell (1 not finished, left out)")
    return made


@pytest.fixture
def copied(exported: Exported, run_folder: Path, tmp_path: Path) -> Exported:
    """To be changed."""
    return Exported(run_folder, Path(shutil.copy(exported.database, tmp_path)))


def test_a_cell_is_a_study(exported: Exported) -> None:
    study = exported.study(ASHA)
    assert study.direction.name == "MAXIMIZE"
    assert [trial.state for trial in study.trials] == [
        TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.FAIL,
        TrialState.PRUNED, TrialState.PRUNED,
    ]  # fmt: skip
    assert study.best_trial.number == 0 and study.best_value == 0.6
    assert study.user_attrs["incumbent"] == {"trial": 0, "epoch": 2, "validation_score": 0.7}
    first, stopped, failed, diverged, _, empty = study.trials
    assert first.params == SGD
    assert first.intermediate_values == {1: 0.5, 2: 0.7, 3: 0.6}
    assert first.user_attrs["best_score"] == 0.7 and first.user_attrs["strategy"] == "random/asha"
    assert first.duration is not None and first.duration.total_seconds() == 5.0
    assert stopped.params == ADAM, "a parameter that was not drawn is not there"
    assert stopped.value == 0.4
    assert failed.value is None and failed.user_attrs["reason"] == "ValueError: <b>no</b>"
    assert math.isnan(diverged.intermediate_values[1]) and diverged.value is None
    assert empty.params == ADAM and empty.value is None
    assert first.distributions == {
        "lr": FloatDistribution(1e-5, 1.0, log=True),
        "momentum": FloatDistribution(0.0, 0.99),
        "depth": IntDistribution(1, 8),
        "width": IntDistribution(16, 512, log=True),
        "optimizer": CategoricalDistribution(["sgd", "adam", None]),
    }


def test_configurations_that_changed(exported: Exported) -> None:
    changed = exported.study(PBT).trials[1]
    assert changed.params == BEYOND
    assert changed.distributions["lr"] == FloatDistribution(1e-5, 1.2, log=True)
    assert changed.user_attrs["configurations"] == [
        [1, SGD | {"lr": 0.5}, None],
        [2, BEYOND, {"trial": 0, "epoch": 1}],
    ]


def test_optunas_own_analysis(copied: Exported) -> None:
    study = copied.study(PBT)
    frame = study.trials_dataframe()
    assert list(frame["state"]) == ["PRUNED", "COMPLETE"]
    # Going on from it works: its distributions are valid ones.
    study.enqueue_trial(SGD)
    study.optimize(lambda trial: trial.suggest_float("lr", 1e-5, 1.0, log=True), n_trials=2)
    assert len(study.trials) == 4


def test_again_completes_and_replaces(copied: Exported) -> None:
    before = [trial._trial_id for trial in copied.study(ASHA).trials]
    copied.again()
    assert [trial._trial_id for trial in copied.study(ASHA).trials] == before
    # The cell was run again.
    events = [report(0, 1, 0.9, 2.0, "finish", config=SGD), end(0, 1, "finished", config=SGD)]
    write_cell(copied.run_folder, cell(*ASHA), events)
    copied.again()
    (trial,) = copied.study(ASHA).trials
    assert trial.value == 0.9


def test_seventeen_of_forty_trials_end_in_nan(copied: Exported) -> None:
    """optuna#136: none of them is left running."""
    events: list[Event] = []
    for number in range(40):
        if number * 17 % 40 < 17:
            events += [report(number, 1, math.nan, number + 1.0, "diverged", config=SGD)]
            events += [end(number, 1, "diverged", config=SGD, at_s=number + 1.0)]
        else:
            events += [report(number, 1, 0.5, number + 1.0, "finish", config=SGD)]
            events += [end(number, 1, "finished", config=SGD, at_s=number + 1.0)]
    write_cell(copied.run_folder, cell(*ASHA), events)
    copied.again()
    states = [trial.state for trial in copied.study(ASHA).trials]
    assert states.count(TrialState.FAIL) == 17 and states.count(TrialState.COMPLETE) == 23


def test_nothing_to_export(run_folder: Path, tmp_path: Path) -> None:
    for key in (ASHA, PBT):
        (cell_folder(run_folder, *key) / "cell.json").unlink()
    with pytest.raises(UsageError, match="no finished cell"):
        export_run(run_folder, parse_target(f"optuna:sqlite:///{tmp_path / 'no.db'}"))


def test_optuna_dashboard_serves_it(exported: Exported, tmp_path: Path) -> None:
    def command(port: int) -> list[str]:
        return ["optuna-dashboard", exported.url, "--host", "127.0.0.1", "--port", str(port)]

    with server(command, "/api/studies", tmp_path / "log.txt") as address:
        with urllib.request.urlopen(f"{address}/api/studies") as answer:
            summaries = json.load(answer)["study_summaries"]
        names = {summary["study_name"]: summary["study_id"] for summary in summaries}
        (asha,) = (number for name, number in names.items() if "random/asha" in name)
        with urllib.request.urlopen(f"{address}/api/studies/{asha}?after=0") as answer:
            study = json.load(answer)
    assert len(names) == 2
    assert [trial["state"] for trial in study["trials"]] == [
        "Complete", "Pruned", "Fail", "Fail", "Pruned", "Pruned",
    ]  # fmt: skip
    assert study["directions"] == ["maximize"]
