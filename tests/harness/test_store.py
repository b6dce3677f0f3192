"""The run folder: one writer at a time, the same study or none, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.contract import UsageError
from harness.contract.records import StudyRecord
from harness.store import LOCK_FILE, RunStore
from harness.study import StudyConfig
from reports.store import CELL_FILE, EVENTS_FILE, STUDY_FILE, cell_folder, read_study
from tests.reports import make_run


def test_a_new_folder_gets_the_study(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "deep" / "run")
    with store.locked():
        assert store.begin(make_run.study()) is False
        assert store.begin(make_run.study()) is True


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seeds": [0, 1]}, "seeds: \\[0\\] → \\[0, 1\\]"),
        ({"budget_device_seconds": 7.0}, "budget_device_seconds: 100.0 → 7.0"),
        ({"versions": {"ray": "9"}}, "versions.ray: '2.60.0' → '9'"),
        ({"study": {"benchmark": "other", "seeds": [0]}}, "study.benchmark: 'toy' → 'other'"),
    ],
)
def test_another_configuration_is_refused(tmp_path: Path, change: dict, named: str) -> None:
    store = RunStore(tmp_path)
    store.begin(make_run.study())
    with pytest.raises(UsageError, match=named):
        store.begin(make_run.study().model_copy(update=change))


@pytest.mark.parametrize(
    "change",
    [
        {"created_at": "2027-01-01T00:00:00+00:00"},
        {"git_commit": "f" * 40},
        {"machine": {"hostname": "another"}},
        {"study": {"benchmark": "toy", "seeds": [0], "address": "auto", "storage": "s3://x"}},
        {"study": {"benchmark": "toy", "seeds": [0], "retrain": 3}},
    ],
)
def test_when_and_where_and_what_comes_after_may_differ(tmp_path: Path, change: dict) -> None:
    store = RunStore(tmp_path)
    store.begin(make_run.study())
    assert store.begin(make_run.study().model_copy(update=change)) is True


def test_targets_may_change_and_the_new_ones_are_kept(tmp_path: Path) -> None:
    """A record written before there were any can be read, and gets them."""
    store, before = RunStore(tmp_path), make_run.study(command="the first one")
    store.begin(before)
    fields = json.loads((tmp_path / STUDY_FILE).read_text())
    del fields["benchmark"]["targets"], fields["goal"], fields["decisions"]
    (tmp_path / STUDY_FILE).write_text(json.dumps(fields))
    assert read_study(tmp_path) == before
    as_it_was = (tmp_path / STUDY_FILE).read_bytes()
    later = {"command": "the second one", "created_at": "2027-01-01T00:00:00+00:00"}
    assert store.begin(before.model_copy(update=later)) is True
    assert (tmp_path / STUDY_FILE).read_bytes() == as_it_was, "nothing was told"
    benchmark = before.benchmark.model_copy(update={"targets": [0.8, 0.9]})
    asked = {**before.study, "targets": [0.8, 0.9]}
    told = {"benchmark": benchmark, "study": asked}
    assert store.begin(before.model_copy(update={**later, **told})) is True
    after = read_study(tmp_path)
    assert after.benchmark == benchmark and after.study["targets"] == [0.8, 0.9]
    assert (after.command, after.created_at) == ("the second one", before.created_at)


def test_targets_that_were_given_hold_until_others_are(tmp_path: Path) -> None:
    store, silent = RunStore(tmp_path), StudyConfig()
    assert store.with_what_was_told(silent) == silent
    store.begin(make_run.study(study={"benchmark": "toy", "targets": [0.8]}))
    assert store.with_what_was_told(silent) == StudyConfig(targets=[0.8])
    assert store.with_what_was_told(StudyConfig(targets=[0.9])).targets == [0.9]


def test_the_journal_may_change_and_what_is_not_said_again_stays(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.begin(make_run.study(goal="why", command="the first one"))

    def go_on(**said: Any) -> StudyRecord:
        config = store.with_what_was_told(StudyConfig(**said))
        now = make_run.study(goal=config.goal, decisions=config.decisions, command="another one")
        assert store.begin(now) is True
        return read_study(tmp_path)

    assert go_on() == make_run.study(goal="why", command="the first one")
    decided = go_on(decisions=["ASHA it is"])
    expected = {"goal": "why", "decisions": ["ASHA it is"], "command": "another one"}
    assert decided == make_run.study(**expected)
    assert go_on(goal="why not", decisions=["PBT", "at night"]) == make_run.study(
        goal="why not", decisions=["PBT", "at night"], command="another one"
    )
    assert [path.name for path in tmp_path.iterdir()] == [STUDY_FILE], "written whole"


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("42")
    store = RunStore(tmp_path)
    with store.locked(), pytest.raises(UsageError, match=r"not empty.*thesis\.tex"):
        store.begin(make_run.study())


def test_an_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UsageError, match="cannot be written: Not a directory"),
        RunStore(tmp_path / "file" / "run").locked(),
    ):
        pass


def test_two_runs_at_once_are_refused_while_the_first_lives(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom harness.store import RunStore\n"
        "with RunStore(pathlib.Path(sys.argv[1])).locked():\n"
        "    print('locked', flush=True)\n    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdin is not None and other.stdout is not None
    try:
        assert other.stdout.readline() == "locked\n"
        store = RunStore(tmp_path)
        with pytest.raises(UsageError, match=f"in use by another run .process {other.pid}"):
            store.locked().__enter__()
    finally:
        other.kill()
        other.wait()
        other.stdin.close()
        other.stdout.close()
    with store.locked():
        assert (tmp_path / LOCK_FILE).read_text() == str(os.getpid())


def test_finished_cells_are_judged_by_content(tmp_path: Path) -> None:
    events = [make_run.report(0, 1, 0.5, 10.0, "stop"), make_run.end(0, 1, "stopped")]
    store = RunStore(tmp_path)
    folder = cell_folder(tmp_path, "random/fifo", 0)
    assert store.finished("random/fifo", 0) == "not run: it has no folder"
    make_run.write_cell(tmp_path, make_run.cell(), events)
    assert not isinstance(store.finished("random/fifo", 0), str)
    assert store.why_again("random/fifo", 0) is None
    (folder / CELL_FILE).write_text("")
    assert store.finished("random/fifo", 0) == store.why_again("random/fifo", 0)
    assert store.why_again("random/fifo", 0) == "cell.json is empty"
    make_run.write_cell(tmp_path, make_run.cell(status="failed", reason="no luck"), events)
    assert store.finished("random/fifo", 0) == "failed before: no luck"


def test_an_earlier_try_is_kept_aside(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    folder = store.fresh_cell("pbt", 1)
    (folder / EVENTS_FILE).write_text("first\n")
    (folder / "incumbent").mkdir()
    assert store.fresh_cell("pbt", 1) == folder
    (folder / EVENTS_FILE).write_text("second\n")
    store.fresh_cell("pbt", 1)
    assert sorted(path.name for path in folder.iterdir()) == ["earlier"]
    assert (folder / "earlier" / "1" / EVENTS_FILE).read_text() == "first\n"
    assert (folder / "earlier" / "1" / "incumbent").is_dir()
    assert (folder / "earlier" / "2" / EVENTS_FILE).read_text() == "second\n"
