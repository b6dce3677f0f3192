"""The run store's reader: names of folders, versions, damage."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contract import UsageError
from harness.contract.records import CellRecord, Incumbent, Retraining, RetrainRecord
from reports.store import (
    UnreadableError,
    cell_folder,
    cell_slug,
    read_cell,
    read_run,
    read_study,
    verify_cell,
)
from tests.reports.make_run import cell, end, report, study, write_cell, write_study

EVENTS = [report(0, 1, 0.5, 10.0), report(0, 2, 0.6, 20.0), end(0, 2, "cut")]


@pytest.mark.parametrize(
    ("strategy", "seed", "slug"),
    [
        ("random/asha", 3, "random-asha--seed-3"),
        ("pbt", 0, "pbt--seed-0"),
        ("my_pbt2.1", 12, "my_pbt2.1--seed-12"),
        ("random-asha", 3, "random~2dasha--seed-3"),
        ("PBT", 0, "~50~42~54--seed-0"),
        ("../x", 0, "~2e.-x--seed-0"),
        ("<b>", 0, "~3cb~3e--seed-0"),
        ("é", 0, "~c3~a9--seed-0"),
    ],
)
def test_a_cell_has_a_readable_folder_name(strategy: str, seed: int, slug: str) -> None:
    assert cell_slug(strategy, seed) == slug


NAMES = st.text(st.sampled_from("aA/-_.~%2dé 🙂\x00"), max_size=12) | st.text(max_size=300)
CELLS = st.tuples(NAMES, st.integers(0, 2**32 - 1))


@settings(deadline=None)
@given(CELLS, CELLS)
def test_no_two_cells_share_a_folder(one: tuple[str, int], other: tuple[str, int]) -> None:
    slugs = cell_slug(*one), cell_slug(*other)
    assert (slugs[0].lower() == slugs[1].lower()) == (one == other)


@settings(deadline=None)
@given(CELLS)
def test_every_folder_name_is_safe(cell_key: tuple[str, int]) -> None:
    slug = cell_slug(*cell_key)
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.~-")
    assert len(slug) < 255
    assert not slug.startswith(".")


def test_a_cell_comes_back_as_it_was_written(tmp_path: Path) -> None:
    scores = [math.nan, math.inf, -math.inf, 0.25]
    events = [report(0, i + 1, score, 10.0 * i, "diverged") for i, score in enumerate(scores)]
    folder = write_cell(tmp_path, cell(), [*events, end(0, 4, "failed", reason="broken\nin two")])
    read = read_cell(folder)
    assert [repr(r.validation_score) for r in read.reports] == ["nan", "inf", "-inf", "0.25"]
    assert read.ends[0].reason == "broken\nin two"
    assert verify_cell(folder) == read.record


def test_a_line_separator_in_a_text_is_no_end_of_line(tmp_path: Path) -> None:
    events = [end(0, 1, "failed", reason="one\u2028two\u0085three\x0cfour")]
    assert read_cell(write_cell(tmp_path, cell(), events)).ends[0].reason == events[0].reason


def test_damage_is_found_and_named(tmp_path: Path) -> None:
    def damaged(name: str, content: bytes) -> str | CellRecord:
        folder = write_cell(tmp_path, cell(), EVENTS)
        (folder / name).write_bytes(content)
        return verify_cell(folder)

    folder = write_cell(tmp_path, cell(), EVENTS)
    events = (folder / "events.jsonl").read_bytes()
    lines = events.splitlines(keepends=True)
    record = json.loads((folder / "cell.json").read_text())

    assert damaged("cell.json", b"") == "cell.json is empty"
    assert "not valid JSON" in str(damaged("cell.json", b'{"format_version": 1, '))
    assert damaged("cell.json", b"[]") == "cell.json is damaged: a JSON list, not an object"
    without = {key: value for key, value in record.items() if key != "slots"}
    assert "slots: Field required" in str(damaged("cell.json", json.dumps(without).encode()))
    assert damaged("events.jsonl", events[:-5]) == "events.jsonl is truncated in line 3"
    assert damaged("events.jsonl", b"".join(lines[:2])) == (
        "events.jsonl has 2 lines where cell.json names 3"
    )
    assert damaged("events.jsonl", b"") == "events.jsonl has 0 lines where cell.json names 3"
    assert "SHA-256" in str(damaged("events.jsonl", events.replace(b"0.5", b"0.9")))
    (folder / "events.jsonl").unlink()
    assert verify_cell(folder) == "events.jsonl cannot be read: No such file or directory"
    (folder / "cell.json").unlink()
    assert verify_cell(folder) == "not finished: its folder has no cell.json"
    assert verify_cell(tmp_path / "nothing") == "not run: it has no folder"


def test_retrainings_are_read_or_missed_with_a_reason(tmp_path: Path) -> None:
    values = {"config": {}, "validation_score": 0.6, "test_score": None}
    best = Incumbent(trial=0, epoch=2, reported_s=20.0, held_device_seconds=20.0, **values)
    folder = write_cell(tmp_path, cell(incumbent=best), EVENTS)
    file = folder / "retrained.json"

    def missed() -> str | None:
        read = read_cell(folder)
        assert read.retrained is None and len(read.reports) == 2
        return read.not_retrained

    assert missed() == "there is no retrained.json"
    file.write_text("")
    assert missed() == "retrained.json is empty"
    file.write_text('{"format_version": 1, "trial": 0}')
    assert missed() == "retrained.json is damaged: epoch: Field required"
    failed = Retraining(seed=7, validation_score=None, test_score=None, reason="no luck")
    done = Retraining(seed=8, validation_score=0.5, test_score=0.4)
    record = RetrainRecord(trial=0, epoch=1, retrainings=[failed, done])
    file.write_text(record.model_dump_json())
    assert missed() == "retrained.json is of another incumbent: trial 0, epoch 1"
    record = record.model_copy(update={"epoch": 2})
    file.write_text(record.model_dump_json())
    assert (read_cell(folder).retrained, read_cell(folder).not_retrained) == (record, None)


@pytest.mark.parametrize("asked", [0, 2])
def test_cells_without_retrainings_are_a_problem_where_there_were_to_be_some(
    tmp_path: Path, asked: int
) -> None:
    write_study(tmp_path, study(["a", "b", "c"], [0], study={"retrain": asked}))
    values = {"config": {}, "validation_score": 0.6, "test_score": None}
    best = Incumbent(trial=0, epoch=2, reported_s=20.0, held_device_seconds=20.0, **values)
    write_cell(tmp_path, cell("a"), EVENTS)
    write_cell(tmp_path, cell("b", incumbent=best), EVENTS)
    folder = write_cell(tmp_path, cell("c", incumbent=best), EVENTS)
    missed = {("b", 0): "there is no retrained.json", ("c", 0): "there is no retrained.json"}
    assert read_run(tmp_path).not_retrained == (missed if asked else {})
    record = RetrainRecord(trial=0, epoch=2, retrainings=[])
    (folder / "retrained.json").write_text(record.model_dump_json())
    del missed["c", 0]
    assert read_run(tmp_path).not_retrained == missed


def test_an_event_of_another_shape_is_damage(tmp_path: Path) -> None:
    import hashlib

    folder = write_cell(tmp_path, cell(), [])
    content = b'{"type": "report"}\n'
    (folder / "events.jsonl").write_bytes(content)
    record = json.loads((folder / "cell.json").read_text())
    record |= {"events": 1, "events_sha256": hashlib.sha256(content).hexdigest()}
    (folder / "cell.json").write_text(json.dumps(record))
    with pytest.raises(UnreadableError, match=r"line 1 of events\.jsonl is not valid: .*trial"):
        read_cell(folder)


@pytest.mark.parametrize(
    ("version", "fix"),
    [
        (2, "pip install --upgrade tune-bench-harness"),
        (0, "report with the harness version that wrote it"),
        (None, "run the study again"),
        ("1", "run the study again"),
        (True, "run the study again"),
    ],
)
def test_another_format_version_names_the_fix(tmp_path: Path, version: object, fix: str) -> None:
    write_study(tmp_path, study())
    fields = json.loads((tmp_path / "study.json").read_text())
    fields["format_version"] = version
    if version is None:
        del fields["format_version"]
    # A newer version's fields are unknown too; what matters to the user is the version.
    fields["new_field"] = 1
    (tmp_path / "study.json").write_text(json.dumps(fields))
    with pytest.raises(UsageError, match=fix):
        read_study(tmp_path)


def test_what_is_no_run_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder") as error:
        read_run(tmp_path / "missing")
    assert error.value.exit_code == 2
    with pytest.raises(UsageError, match=r"has no study\.json"):
        read_run(tmp_path)
    (tmp_path / "study.json").write_text("")
    with pytest.raises(UsageError, match=r"study\.json is empty"):
        read_run(tmp_path)


def test_a_run_is_read_with_what_there_is(tmp_path: Path) -> None:
    write_study(tmp_path, study(["a", "b", "c"], [0]))
    write_cell(tmp_path, cell("a"), EVENTS)
    write_cell(tmp_path, cell("b"), EVENTS)
    # A copied folder is not that cell.
    cell_folder(tmp_path, "b", 0).rename(cell_folder(tmp_path, "c", 0))
    run = read_run(tmp_path)
    assert run.keys == [("a", 0), ("b", 0), ("c", 0)]
    assert list(run.cells) == [("a", 0)]
    assert run.problems == {
        ("b", 0): "not run: it has no folder",
        ("c", 0): "its folder holds another cell: b, seed 0",
    }
