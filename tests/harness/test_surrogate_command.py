"""``surrogate``: what it prints, and its mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.recorded.table import write_table
from harness.cli import app
from harness.contract import UsageError
from tests.benchmarks.make_table import EPOCHS, make_table


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "table.parquet"
    write_table(make_table(configs=40, repeat_configs=10), path)
    return path


def test_the_report(path: Path) -> None:
    result = CliRunner().invoke(app, ["surrogate", str(path)], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "toy: 40 configurations, 60 curves" in said
    assert f"score at epoch {EPOCHS}" in said and "seconds per epoch" in said
    assert "recorded: sd 0.00" in said and "reproduced: sd 0.00" in said
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json(path: Path) -> None:
    result = CliRunner().invoke(app, ["surrogate", str(path), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["format_version"] == 1 and found["configs"] == 40
    assert 0 < found["final_score"]["r2"] <= 1 >= found["final_score"]["spearman"] > 0.5
    assert len(found["score_by_epoch"]) == EPOCHS


def test_no_such_table(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["surrogate", str(tmp_path / "none.parquet")])
    assert isinstance(result.exception, UsageError)
    assert "none.parquet" in str(result.exception)
