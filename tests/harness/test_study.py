"""What a user asks for: flags, a YAML file, and the messages for their mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract import UsageError
from harness.provenance import rerun_command
from harness.study import StudyConfig, make_study, parse_seeds, parse_targets


@pytest.mark.parametrize(
    ("given_seeds", "expected"),
    [
        ("3", [0, 1, 2]),
        (3, [0, 1, 2]),
        ("0,1,2", [0, 1, 2]),
        ("5,", [5]),
        (" 7 , 9 ", [7, 9]),
        ([4, 2], [4, 2]),
    ],
)
def test_seeds(given_seeds: object, expected: list[int]) -> None:
    assert parse_seeds(given_seeds) == expected


@pytest.mark.parametrize(
    "wrong", ["a", "1.5", "", ",", "0", "-1", "1,1", "1,x", "4294967296,", 2.0, True, None, [0.5]]
)
def test_wrong_seeds_are_named(wrong: object) -> None:
    with pytest.raises(ValueError, match="seeds must be") as caught:
        parse_seeds(wrong)
    assert str(wrong).strip("[]")[-1:] in str(caught.value)


@given(st.lists(st.integers(0, 2**32 - 1), unique=True, min_size=1))
def test_any_list_of_seeds_survives_the_command_line(seeds: list[int]) -> None:
    text = ",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("given_targets", "expected"),
    [
        ("0.8,0.85", [0.8, 0.85]),
        (" -1e-3 ", [-0.001]),
        ([1, 0.5, "1e-3"], [1.0, 0.5, 0.001]),
        (0.9, [0.9]),
    ],
)
def test_targets(given_targets: object, expected: list[float]) -> None:
    assert parse_targets(given_targets) == expected


@pytest.mark.parametrize(
    "wrong", ["", ",", "a", "0.5,b", "nan", "1,inf", "0.5,0.50", [], [True], [None], {"a": 1}]
)
def test_wrong_targets_are_named(wrong: object) -> None:
    with pytest.raises(ValueError, match="targets must be distinct finite numbers"):
        parse_targets(wrong)


def test_the_journal(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("goal: ' what to use on Mondays '\ndecisions: [ASHA it is, and Optuna]\n")
    study = make_study({}, file)
    assert study.goal == "what to use on Mondays"
    assert study.decisions == ["ASHA it is", "and Optuna"]
    file.write_text("decisions: one, and only one\n")
    assert make_study({}, file).decisions == ["one, and only one"]
    assert make_study({"decisions": ["PBT"]}, file).decisions == ["PBT"]
    assert (StudyConfig().goal, StudyConfig().decisions) == (None, [])


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("seeds: 3\nbudget: 0.5\nworkers-per-trial: 4\nstrategies: [pbt]\n")
    study = make_study({"budget": 0.25}, file)
    assert (study.seeds, study.budget, study.workers_per_trial) == ([0, 1, 2], 0.25, 4)
    assert study.strategies == ["pbt"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("buget: 1", "unknown field 'buget'.*Did you mean 'budget'"),
        ("[1, 2]", "must map fields to values"),
        ("a: [", "not valid YAML"),
        ("budget: -1", "budget: .*greater than 0"),
        ("seeds: x", "seeds must be"),
        ("executor: cloud", "executor: .*'cloud'"),
        ("goal: ' '", "goal: .*at least 1 character, not ' '"),
        ("decisions: [1]", "decisions: .*valid string, not 1"),
        ("decisions: {a: b}", "decisions: .*valid list, not {'a': 'b'}"),
        ("targets: [0.8, .nan]", "^targets must be distinct finite numbers .*, not nan$"),
    ],
)
def test_a_wrong_file_is_one_message(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        make_study({}, file)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0.0},
        {"budget": float("nan")},
        {"budget": float("inf")},
        {"workers_per_trial": 0},
        {"devices_per_worker": 0.0},
        {"max_concurrent": 0},
        {"strategies": ""},
        {"max_same_failures": -1},
    ],
)
def test_out_of_range_flags_name_the_flag(wrong: dict[str, Any]) -> None:
    (field,) = wrong
    with pytest.raises(UsageError, match=field.replace("_", "-")):
        make_study(wrong, None)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read --config"):
        make_study({}, tmp_path / "none.yaml")


def test_the_rerun_command_gives_the_same_study() -> None:
    """The words of the command, read back by the real command line's parser."""
    from typer.testing import CliRunner

    import harness.commands.run as run_command
    from harness.cli import app

    study = StudyConfig(
        strategies=["random/asha", "pbt"],
        seeds=[5],
        budget=0.125,
        benchmark_options={"model": "cnn", "max_epochs": 3},
        strategy_files=[Path("a b.py"), Path("c.py")],
        max_concurrent=2,
        targets=[-0.5, 1e-9],
        goal="ASHA's worth, in €",
        decisions=["--asha for 'all'", 'two\nlines, 1 of them "last"'],
        out=Path("runs/x"),
    )
    seen: list[StudyConfig] = []
    original = run_command._run
    run_command._run = lambda given: seen.append(given) or 0  # type: ignore[func-returns-value]
    try:
        import shlex

        words = shlex.split(rerun_command(study))
        assert words[:3] == ["python", "-m", "harness"]
        result = CliRunner().invoke(app, words[3:])
    finally:
        run_command._run = original
    assert result.exit_code == 0, result.output
    again = seen[0].model_copy(update={"benchmark_options": {"model": "cnn", "max_epochs": 3}})
    assert again == study
