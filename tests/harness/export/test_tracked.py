"""From a run folder, whole or still growing, to what trackers are told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from harness.contract import UsageError
from harness.export.feed import Feed
from harness.export.push import push_run, pushing
from harness.export.targets import parse_target
from harness.export.tracked import INTERRUPTED, TrackedRun, study_identity
from reports.store import cell_folder, read_study
from tests.harness.export.conftest import ASHA, ASHA_EVENTS, PBT, PBT_EVENTS, SGD, trial_count
from tests.reports.make_run import report


def all_runs(feed: Feed) -> list[TrackedRun]:
    feed.look()
    feed.finish()
    return take(feed)


def take(feed: Feed) -> list[TrackedRun]:
    runs = list(feed.pending())
    for run in runs:
        feed.taken(run)
    return runs


def trials_of(runs: list[TrackedRun], cell: str) -> dict[int, TrackedRun]:
    return {
        int(run.tags["trial"]): run
        for run in runs
        if run.kind == "trial" and run.tags["cell"] == cell
    }


def test_one_tree_of_runs(run_folder: Path) -> None:
    runs = all_runs(Feed(run_folder))
    assert runs[0].kind == "study" and runs[0].parent is None and runs[0].name == "mine"
    cells = [run for run in runs if run.kind == "cell"]
    assert [cell.tags["cell"] for cell in cells] == ["random-asha--seed-0", "pbt--seed-0"]
    assert len(runs) == 3 + trial_count(ASHA_EVENTS) + trial_count(PBT_EVENTS)
    assert len({run.key for run in runs}) == len(runs)
    for run in runs[1:]:
        assert run.parent is not None
        assert runs.index(run.parent) < runs.index(run), "parents come first"
        assert run.parent.kind == {"cell": "study", "trial": "cell"}[run.kind]
    tags = trials_of(runs, "pbt--seed-0")[1].tags
    assert tags["strategy"] == "pbt" and tags["seed"] == "0" and tags["study"] == "mine"
    assert runs[0].files == [run_folder / "report.html"]
    # A cell of the study is missing: it may be gone on with.
    assert runs[0].end is not None and runs[0].end.status == INTERRUPTED


def test_how_trials_end(run_folder: Path) -> None:
    trials = trials_of(all_runs(Feed(run_folder)), "random-asha--seed-0")
    assert {
        number: (run.end.status, run.end.outcome) for number, run in trials.items() if run.end
    } == {
        0: ("finished", "finished"),
        1: ("stopped", "finished"),
        2: ("failed", "failed"),
        3: ("diverged", "failed"),
        4: ("cut", "killed"),
        5: ("cut", "killed"),
    }
    first, failed = trials[0], trials[2]
    assert failed.end is not None and failed.end.reason == "ValueError: <b>no</b>"
    assert first.parameters == SGD
    assert [(p.step, p.metrics["validation_accuracy"]) for p in first.points] == [
        (1, 0.5), (2, 0.7), (3, 0.6),
    ]  # fmt: skip
    assert first.points[0].metrics["test_accuracy"] == 0.5
    assert first.points[-1].metrics["device_seconds"] == 3.0
    assert first.points[1].at_s - first.points[0].at_s == 2.0
    assert first.end is not None
    assert first.end.metrics == {
        "best/validation_accuracy": 0.7, "best/epoch": 2.0, "told_score": 0.6,
    }  # fmt: skip
    assert math.isnan(trials[3].points[0].metrics["validation_accuracy"])
    assert trials[5].points == []


def test_changed_configurations_are_metrics(run_folder: Path) -> None:
    runs = all_runs(Feed(run_folder))
    changing = trials_of(runs, "pbt--seed-0")[1]
    assert changing.parameters["lr"] == 0.5
    assert [point.metrics["config/lr"] for point in changing.points] == [0.5, 1.2, 1.2]
    assert "config/depth" not in changing.points[0].metrics, "it cannot change"
    assert "config/lr" not in trials_of(runs, "random-asha--seed-0")[0].points[0].metrics


def test_a_cells_own_run(run_folder: Path) -> None:
    cell = next(run for run in all_runs(Feed(run_folder)) if run.kind == "cell")
    assert cell.end is not None and (cell.end.status, cell.end.outcome) == ("completed", "finished")
    assert cell.end.metrics["validation_accuracy"] == 0.7
    assert cell.end.metrics["incumbent/epoch"] == 2.0
    assert cell.parameters["settings/factor"] == 3.0
    assert cell.parameters["settings/nested"] == "{'a': [1]}"


def test_keys_stay_the_same(run_folder: Path, tmp_path: Path) -> None:
    keys = [run.key for run in all_runs(Feed(run_folder))]
    moved = run_folder.rename(tmp_path / "elsewhere")
    assert [run.key for run in all_runs(Feed(moved))] == keys
    record = read_study(moved)
    told = record.model_copy(update={"goal": "why", "command": "another", "git_dirty": True})
    assert study_identity(told) == study_identity(record)
    later = record.model_copy(update={"created_at": "2026-12-01T12:00:01+00:00"})
    assert study_identity(later) != study_identity(record)


def test_a_growing_cell(run_folder: Path) -> None:
    folder = cell_folder(run_folder, *ASHA)
    record = (folder / "cell.json").read_bytes()
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "cell.json").unlink()
    (folder / "events.jsonl").write_bytes(lines[0] + lines[1][:20])  # one is being written
    feed = Feed(run_folder)
    feed.look()
    seen = [run for run in take(feed) if run.tags.get("cell") == "random-asha--seed-0"]
    assert [run.kind for run in seen] == ["cell", "trial"]
    (trial,) = trials_of(seen, "random-asha--seed-0").values()
    assert len(trial.points) == 1 and trial.end is None
    feed.look()
    assert take(feed) == [], "nothing is new"

    (folder / "events.jsonl").write_bytes(b"".join(lines[:4]))
    feed.look()
    again = trials_of(take(feed), "random-asha--seed-0")
    assert again[0] is trial and len(trial.points) == 2
    assert again[1].is_done

    (folder / "events.jsonl").write_bytes(b"".join(lines))
    (folder / "cell.json").write_bytes(record)
    feed.look()
    last = take(feed)
    assert trial.is_done and len(trial.points) == 3
    assert seen[0] in last and seen[0].is_done


def test_an_interrupted_cell_leaves_nothing_running(run_folder: Path) -> None:
    (cell_folder(run_folder, *PBT) / "cell.json").unlink()
    events = cell_folder(run_folder, *PBT) / "events.jsonl"
    events.write_bytes(b"".join(events.read_bytes().splitlines(keepends=True)[:2]))
    runs = [run for run in all_runs(Feed(run_folder)) if run.tags.get("cell") == "pbt--seed-0"]
    assert {run.kind for run in runs} == {"cell", "trial"}
    for run in runs:
        assert run.end is not None and run.end.status == INTERRUPTED and not run.is_done


def test_a_cell_that_is_begun_anew_is_another_run(run_folder: Path) -> None:
    folder = cell_folder(run_folder, *PBT)
    (folder / "cell.json").unlink()
    first, *_ = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text(first)
    feed = Feed(run_folder)
    feed.look()
    before = trials_of(take(feed), "pbt--seed-0")[0]
    other = report(0, 1, 0.55, 2.5, config=SGD)
    (folder / "events.jsonl").write_text(other.model_dump_json() + "\n")
    feed.look()
    runs = take(feed)
    assert before in runs and before.end is not None and before.end.status == INTERRUPTED
    after = next(run for run in runs if run.kind == "trial" and run is not before)
    assert after.key != before.key
    assert after.points[0].metrics["validation_accuracy"] == 0.55


def test_a_damaged_line_is_named(run_folder: Path) -> None:
    events = cell_folder(run_folder, *PBT) / "events.jsonl"
    events.write_bytes(events.read_bytes() + b'{"type": "report"}\n')
    feed = Feed(run_folder)
    with pytest.raises(UsageError, match=r"events\.jsonl holds a line that is not valid"):
        feed.look()


def test_a_report_that_leads_out_of_the_folder_is_not_sent(run_folder: Path) -> None:
    (run_folder.parent / "secret.txt").write_text("s3cret")
    (run_folder / "report.html").unlink()
    (run_folder / "report.html").symlink_to(run_folder.parent / "secret.txt")
    assert all_runs(Feed(run_folder))[0].files == []


def test_two_do_not_push_the_same(run_folder: Path) -> None:
    target = parse_target("tensorboard")
    with pushing(run_folder, target, waits=True), pytest.raises(UsageError, match="wait for its"):
        push_run(run_folder, target)
