"""``list``: readable, machine-readable, and honest about what cannot be used."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.registry import BENCHMARKS
from harness.cli import app
from harness.contract.registry import Entry, Registry
from strategies.registry import STRATEGIES

ROOT = Path(__file__).parents[2]

STRATEGY_FILE = """
from harness.contract import Strategy
from strategies.random_fifo import build

STRATEGY = Strategy(
    name="mine", summary="My own", searcher="random", scheduler="fifo", build=build,
    requires=({requires}),
)
"""


@pytest.fixture(autouse=True)
def files_are_forgotten() -> Iterator[None]:
    """What a test registers from files is not there for the next."""
    yield
    STRATEGIES._from_files.clear()
    BENCHMARKS._from_files.clear()


def listing(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["list", "--json", *arguments])
    assert result.exit_code == 0, result.output
    parsed: dict[str, Any] = json.loads(result.output)
    return parsed


def strategy_row(name: str, *arguments: str) -> dict[str, Any]:
    (row,) = (row for row in listing(*arguments)["strategies"] if row["name"] == name)
    return dict(row)


def text(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["list", *arguments], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.output


def test_json_has_every_strategy_and_benchmark() -> None:
    found = listing()
    assert found["format_version"] == 1
    assert [row["name"] for row in found["strategies"]][:6] == [
        "random/fifo",
        "random/asha",
        "optuna/fifo",
        "optuna/asha",
        "hyperopt/asha",
        "pbt",
    ]
    assert strategy_row("pbt") == {
        "name": "pbt",
        "source": "built in",
        "problem": None,
        "summary": "Population based training: weak trials copy strong ones and mutate",
        "searcher": "random",
        "scheduler": "pbt",
        "stops_early": False,
        "needs_checkpoints": True,
        "changes_config": True,
        "requires": [],
    }
    (benchmark,) = (row for row in found["benchmarks"] if row["name"] == "fashion_mnist")
    assert benchmark["mode"] == "max"
    assert benchmark["source"] == "built in"
    assert benchmark["max_epochs"] == benchmark["options"]["max_epochs"] > 1
    (table,) = (row for row in found["benchmarks"] if row["name"] == "recorded_table")
    assert table["metric"] is table["mode"] is table["max_epochs"] is None, "the table decides"


def test_the_tables_fit_80_columns_and_say_everything_once() -> None:
    printed = text()
    assert max(map(len, printed.splitlines())) <= 80
    for name in [*STRATEGIES.names(), *BENCHMARKS.names()]:
        assert printed.count(f" {name} ") == 1, name
    assert "needs checkpoints" in " ".join(printed.split())
    assert "stops early" in printed and "built in" in printed


def test_a_strategy_file_is_listed_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(STRATEGY_FILE.format(requires=""))
    (mine,) = (
        r for r in listing("--strategy-file", str(path))["strategies"] if r["name"] == "mine"
    )
    assert mine["source"] == f"file {path}"
    assert mine["problem"] is None


def test_a_not_installed_one_is_listed_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(STRATEGY_FILE.format(requires="'no_such_module',"))
    printed = text("--strategy-file", str(path))
    assert f"cannot be used: mine (file {path}): needs no_such_module" in printed
    STRATEGIES._from_files.clear()
    (mine,) = (
        r for r in listing("--strategy-file", str(path))["strategies"] if r["name"] == "mine"
    )
    assert "needs no_such_module" in mine["problem"]


def test_a_broken_one_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    broken: Entry[Any] = Entry("theirs", "their-package 1.0", None, "ImportError: [no] such thing")
    entries = STRATEGIES.entries() | {"theirs": broken}
    monkeypatch.setattr(Registry, "entries", lambda self: entries if self is STRATEGIES else {})
    line = "cannot be used: theirs (their-package 1.0): ImportError: [no] such thing"
    assert line in text()
    assert listing()["benchmarks"] == []


def test_a_file_that_cannot_be_read_is_a_usage_error() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "harness", "list", "--strategy-file", "no/such.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 2
    assert finished.stderr.strip() == "error: no strategy file at no/such.py"
    assert "Traceback" not in finished.stderr


def test_listing_imports_neither_ray_nor_torch() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from harness.cli import app\n"
        "assert CliRunner().invoke(app, ['list']).exit_code == 0\n"
        "heavy = ('ray', 'torch', 'optuna', 'hyperopt', 'pyarrow', 'scipy')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"
