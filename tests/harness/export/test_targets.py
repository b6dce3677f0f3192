"""Where results go: what a user may write, and what nobody may read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.contract import UsageError
from harness.export.targets import TRACKERS, check_installed, parse_target
from harness.study import StudyConfig, make_study


@pytest.mark.parametrize(
    ("given", "messages"),
    [
        ("mlfow:http://host", ["unknown target 'mlfow'", "Did you mean 'mlflow'?"]),
        ("mlflow,wandb", ["unknown target 'mlflow,wandb'", "one per option"]),
        ("optuna:sqlite:///a.db", ["unknown target 'optuna'", "mlflow, tensorboard, wandb"]),
        ("mlflow:", ["'mlflow:' ends after its colon"]),
    ],
)
def test_a_tracker_that_is_none(given: str, messages: list[str], tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(f"track: ['{given}']\n")
    for flags, config in (({"track": [given]}, None), ({}, file)):
        with pytest.raises(UsageError) as error:
            make_study(flags, config)
        assert error.value.exit_code == 2
        assert all(message in str(error.value) for message in messages), error.value


def test_several_in_a_study_file(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("track: [tensorboard, 'mlflow:http://localhost:5000']\n")
    assert make_study({}, file).track == ["tensorboard", "mlflow:http://localhost:5000"]
    file.write_text("track: wandb:team/project\n")
    assert make_study({}, file).track == ["wandb:team/project"]
    assert StudyConfig().track == []


@pytest.mark.parametrize(
    ("given", "takes"),
    [
        ("optuna", r"a storage URL.*sqlite:///study\.db"),
        ("optuna:study.db", "a storage URL"),
        ("wandb:https://api.wandb.ai/team/project", "ENTITY/PROJECT"),
        ("tensorboard:s3://bucket/tb", "a local folder"),
        ("csv:s3://bucket", "a local folder"),
    ],
)
def test_a_place_that_is_none(given: str, takes: str) -> None:
    with pytest.raises(UsageError, match=takes):
        parse_target(given)


@pytest.mark.parametrize("name", TRACKERS)
def test_a_missing_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed(parse_target(name))
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [])  # nothing can be found any more
    with pytest.raises(UsageError, match=rf"pip install 'tune-bench-harness\[{name}\]'"):
        check_installed(parse_target(name))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("mlflow:http://me:s3cret@host:5000/a?token=s3cret", "mlflow:http://host:5000/a"),
        ("mlflow:https://s3cret@host", "mlflow:https://host"),
        ("optuna:postgresql://me:s3cret@host/db", "optuna:postgresql://host/db"),
        ("optuna:sqlite:///study.db", "optuna:sqlite:///study.db"),
        ("wandb:team/project", "wandb:team/project"),
        ("tensorboard", "tensorboard"),
    ],
)
def test_credentials_are_not_shown(given: str, shown: str) -> None:
    target = parse_target(given)
    assert str(target) == shown
    assert parse_target(shown).name == target.name


def test_a_librarys_message_is_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://you:0ther@elsewhere")
    target = parse_target("mlflow:http://me:s3cret@host")
    said = "no http://me:s3cret@host (me, s3cret, t0ken), no http://you:0ther@elsewhere"
    assert target.clean(said) == "no http://host (me, ***, ***), no http://elsewhere"
