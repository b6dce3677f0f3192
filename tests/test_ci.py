"""The examples for CI systems: valid by those systems' schemas, and their commands are real."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from harness.check.baseline import read_baseline
from harness.cli import app

ROOT = Path(__file__).parent.parent
GITHUB, GITLAB = ROOT / ".github/workflows/benchmark.yml", ROOT / "docs/ci/gitlab-ci.yml"
SCHEMAS = {
    GITHUB: ["--builtin-schema", "vendor.github-workflows"],
    GITLAB: ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
}
FILES = pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)


@FILES
def test_files_are_valid(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", *SCHEMAS[path], str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def texts(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for value in node.values() for text in texts(value)]
    if isinstance(node, list):
        return [text for value in node for text in texts(value)]
    return [node] if isinstance(node, str) else []


@FILES
def test_commands_are_of_this_command_line(path: Path) -> None:
    content = "\n".join(texts(yaml.safe_load(path.read_text())))
    commands = re.findall(r"python -m harness (\w+)((?: [^\s;]+)*)", content)
    assert {name for name, _ in commands} == {"run", "baseline", "check"}
    for name, arguments in commands:
        options = [word for word in shlex.split(arguments) if word.startswith("--")]
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output
        assert options and all(option in shown for option in options)


@pytest.mark.parametrize("name", ["fashion_mnist_table", "noisy_quadratic", "hartmann_power_law"])
def test_the_baselines_that_they_name_are_there(name: str) -> None:
    for path in SCHEMAS:
        assert name in path.read_text()
    baseline = read_baseline(ROOT / f"baselines/{name}.json")
    assert baseline.study.executor == "virtual" and baseline.study.benchmark.name == name
    assert all(cell.status == "completed" for c in baseline.cells.values() for cell in c.values())
