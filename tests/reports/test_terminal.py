"""``show RUN``: the verdict in the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands.show import show
from harness.contract import UsageError
from reports.analysis import analyse
from reports.run import Run
from reports.terminal import print_study
from tests.reports.make_run import run_of, scored_run, write_realistic_run


def printed(run: Run, width: int = 120) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    print_study(console, analyse(run))
    return console.export_text()


def test_the_verdict_and_the_ranking() -> None:
    text = printed(scored_run(**{"random/fifo": [0.5, 0.6], "[red]/asha": [0.7, 0.8]}))
    assert "cannot be told apart at 100 core-seconds with 2 seeds." in text
    rows = [line.split()[:3] for line in text.splitlines() if "2 of 2" in line]
    assert rows == [["[red]/asha", "=", "0.7500"], ["random/fifo", "=", "0.5500"]]


def test_a_run_without_a_score() -> None:
    assert "No strategy has a finite validation_accuracy" in printed(run_of({}, ["a"], [0]))


def test_a_narrow_terminal() -> None:
    assert "pbt" in printed(scored_run(pbt=[0.5]), width=40)


def test_it_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_realistic_run(tmp_path / "run", ["random/asha"], seeds=(0,))
    before = sorted(tmp_path.rglob("*"))
    show([run])
    assert "random/asha has the only test_accuracy" in capsys.readouterr().out
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(UsageError, match="is not a run folder"):
        show([tmp_path])
