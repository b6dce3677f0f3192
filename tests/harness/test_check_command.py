"""``baseline`` and ``check`` as a user types them, on real runs on the virtual clock."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.contract import HarnessError

pytestmark = pytest.mark.cluster

STRATEGY = """
from dataclasses import replace
from ray.tune.schedulers import AsyncHyperBandScheduler
from strategies import random_asha

SIGN = {sign}

class Asha(AsyncHyperBandScheduler):
    def on_trial_result(self, controller, trial, result):
        return super().on_trial_result(
            controller, trial, {{**result, self._metric: SIGN * result[self._metric]}}
        )

def build(problem):
    plan = random_asha.STRATEGY.build(problem)
    plan.scheduler.__class__ = Asha
    return plan

MINE = replace(random_asha.STRATEGY, name="mine/asha", build=build)
"""
STUDY = (
    "--executor", "virtual", "--benchmark", "noisy_quadratic", "--strategies",
    "random/fifo,mine/asha", "--strategy-file", "mine.py", "--budget", "0.3",
)  # fmt: skip
WAIT_S = 300


def healthy(folder: Path) -> None:
    (folder / "mine.py").write_text(STRATEGY.format(sign=1))


def broken(folder: Path) -> None:
    """ASHA keeps the worst."""
    (folder / "mine.py").write_text(STRATEGY.format(sign=-1))


def without_it(folder: Path) -> None:
    (folder / "mine.py").write_text(STRATEGY.format(sign=1).replace("mine/asha", "other/asha"))


@dataclass(frozen=True)
class Made:
    """A folder with the run ``before`` of 12 seeds and its baseline."""

    folder: Path

    def harness(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "harness", *arguments], cwd=self.folder, text=True,
            env={**os.environ, "COLUMNS": "150", **environment}, capture_output=True,
            timeout=WAIT_S, check=False,
        )  # fmt: skip

    def harness_in_process(self, *arguments: str) -> tuple[int, str]:
        """For what starts no Ray: the exit code, and all that was said."""
        with contextlib.chdir(self.folder):
            result = CliRunner().invoke(app, arguments)
        error = result.exception
        if isinstance(error, HarnessError):
            return error.exit_code, str(error)
        return result.exit_code, result.output

    def check(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.harness("check", "--baseline", "baseline.json", *arguments, **environment)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    made = Made(tmp_path_factory.mktemp("check"))
    healthy(made.folder)
    for command in (
        ("run", *STUDY, "--seeds", "12", "--out", "before"),
        ("baseline", "before", "--out", "baseline.json", "--fail-on", "best_score:10%"),
    ):
        done = made.harness(*command)
        assert done.returncode == 0, done.stderr
    return made


def marks(out: Path) -> dict[str, set[str]]:
    """Strategy → the marks of its rows."""
    rows = json.loads((out / "check.json").read_text())["rows"]
    return {
        name: {row["mark"] for row in rows if row["strategy"] == name}
        for name in {row["strategy"] for row in rows}
    }


def test_the_run_itself_is_identical(made: Made) -> None:
    code, said = made.harness_in_process(
        "check", "before", "--baseline", "baseline.json", "--out", "same"
    )
    assert code == 0, said
    assert "No regression. All cells are identical, event by event." in said
    assert {"check.json", "check.md", "junit.xml"} <= {
        path.name for path in (made.folder / "same").iterdir()
    }
    margins = {
        r["measure"]: r for r in json.loads((made.folder / "same/check.json").read_text())["rows"]
    }
    score = margins["best_score"]
    assert score["margin"] == pytest.approx(0.1 * score["before"])


def test_without_a_run_the_baselines_own_study_is_run(made: Made) -> None:
    """A strategy that keeps the worst is found, in both looks; the other one is run once."""
    broken(made.folder)
    try:
        done = made.check(
            "--seeds", "6", "--confirm", "--out", "worse",
            GITHUB_STEP_SUMMARY="summary.md", GITHUB_ACTIONS="true",
        )  # fmt: skip
    finally:
        healthy(made.folder)
    assert done.returncode == 1, done.stderr
    out = made.folder / "worse"
    assert marks(out)["random/fifo"] <= {"~", "x"} and "-" in marks(out)["mine/asha"]
    record = json.loads((out / "check.json").read_text())
    assert record["looks"] == [6, 12] and record["outcome"] == "regression"
    pairs = {row["strategy"]: len(row["seeds"]) for row in record["rows"]}
    assert pairs == {"random/fifo": 6, "mine/asha": 12}
    assert "Regression: mine/asha." in done.stdout
    assert "::error title=Search quality::mine/asha" in done.stdout
    assert "## Search quality: regression" in (made.folder / "summary.md").read_text()
    again = made.harness_in_process("check", "--baseline", "baseline.json", "--out", "worse")
    assert again[0] == 2 and "holds a finished check" in again[1]


def test_a_strategy_that_is_gone(made: Made) -> None:
    without_it(made.folder)
    try:
        done = made.check("--seeds", "6", "--out", "gone")
    finally:
        healthy(made.folder)
    assert done.returncode == 4, done.stderr
    assert "The run lacks mine/asha, which the baseline has" in done.stdout
    assert marks(made.folder / "gone")["mine/asha"] == {"x"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "--baseline FILE is missing"),
        (("--baseline", "none.json"), 2, "there is no baseline none.json; make one with"),
        (("--baseline", "mine.py"), 2, "is damaged"),
        (("--baseline", "baseline.json", "nowhere"), 2, "nowhere is not a folder"),
        (("--baseline", "baseline.json", "unfinished"), 2, "is not finished, or still going"),
        (("--baseline", "baseline.json", "--fail-on", "best_score"), 2, "must be NAME:SIZE"),
        (("--baseline", "baseline.json", "--inconclusive", "maybe"), 2, "maybe"),
        (("--baseline", "baseline.json", "before", "--confirm"), 2, "leave before out, or the op"),
        (("--baseline", "baseline.json", "before", "--seeds", "6"), 2, "--seeds is for a check"),
        (("--baseline", "."), 2, "cannot be read: Is a directory"),
        (("--baseline", "baseline.json", "before", "--out", "mine.py/x"), 2, "cannot write"),
        (("--baseline", "newer.json"), 4, "has format version 2"),
        (("--baseline", "budget.json", "before"), 4, "budget device seconds"),
        (("--baseline", "nan.json", "before"), 2, "is damaged: cells.random/fifo.0.best_score"),
    ],
)
def test_mistakes(made: Made, arguments: Sequence[str], code: int, message: str) -> None:
    content = (made.folder / "baseline.json").read_text()
    baseline = json.loads(content)
    (made.folder / "newer.json").write_text(
        content.replace('"format_version": 1', '"format_version": 2', 1)
    )
    baseline["study"]["budget_device_seconds"] *= 2
    (made.folder / "budget.json").write_text(json.dumps(baseline))
    first = baseline["cells"]["random/fifo"]["0"]["best_score"]
    (made.folder / "nan.json").write_text(
        content.replace(f'"best_score": {first}', '"best_score": NaN', 1)
    )
    if not (made.folder / "unfinished").exists():
        (made.folder / "unfinished").mkdir()
        (made.folder / "unfinished/study.json").write_text(
            (made.folder / "before/study.json").read_text()
        )
    found, said = made.harness_in_process("check", *arguments)
    assert found == code, said
    assert message in " ".join(said.split())


def test_an_unfinished_run_is_no_baseline(made: Made) -> None:
    (made.folder / "partial").mkdir(exist_ok=True)
    (made.folder / "partial/study.json").write_text((made.folder / "before/study.json").read_text())
    code, said = made.harness_in_process("baseline", "partial", "--out", "partial.json")
    assert code == 2 and "is not finished" in said
    assert not (made.folder / "partial.json").exists()
