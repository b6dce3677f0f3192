"""Run folders from strangers: a safe page or one clear message, never more than that."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from harness.check.baseline import make_baseline, read_baseline, write_baseline
from harness.cli import main
from harness.contract import UsageError
from harness.contract.text import printable
from reports.analysis import analyse
from reports.build import build_report
from reports.store import UnreadableError, cell_folder, read_run
from reports.terminal import print_study
from tests.reports.hostile import TEXTS, apply, mutations, rewrite_events
from tests.reports.make_run import write_realistic_run

NAMES = ("random/asha", "pbt")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("sound") / "run"
    return write_realistic_run(run, NAMES, seeds=range(6), budget=20.0, failure_rate=0.2)


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "run"))


def edit(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def problem(run: Path) -> str:
    """Why the first cell cannot be read, and that the others can."""
    found = read_run(run)
    assert list(found.problems) == [(NAMES[0], 0)]
    return found.problems[NAMES[0], 0]


# Mutations ---------------------------------------------------------------------------------------


@settings(
    max_examples=int(os.environ.get("HOSTILE_EXAMPLES", "12")),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_changed_records_are_shown_or_refused(data: st.DataObject, sound: Path) -> None:
    """``HOSTILE_EXAMPLES=2000`` looks longer."""
    changed = sound.with_name("changed")
    shutil.rmtree(changed, ignore_errors=True)
    shutil.copytree(sound, changed)
    apply(changed, data.draw(mutations(sound)))
    try:
        analysis = analyse(read_run(changed))
    except UsageError:
        return
    shown = io.StringIO()
    print_study(Console(file=shown), analysis)
    assert "\x1b" not in shown.getvalue() and "\u202e" not in shown.getvalue()
    make_baseline(analysis)


def test_texts_in_every_place(run: Path) -> None:
    """One page on which every text of every record is somebody's attempt."""
    evil = " ".join(TEXTS[1:7])

    def poison(node: Any, keep: frozenset[str] = frozenset()) -> Any:
        if isinstance(node, dict):
            return {k: v if k in keep else poison(v, keep) for k, v in node.items()}
        if isinstance(node, list):
            return [poison(item, keep) for item in node]
        return f"{node}{evil}" if isinstance(node, str) else node

    study = json.loads((run / "study.json").read_text())
    fixed = frozenset({"executor", "kind", "mode", "type", "strategies", "created_at"})
    study = poison(study | {"goal": "why", "decisions": ["what"]}, fixed)
    study["strategies"] = [
        {**strategy, "summary": evil, "searcher": evil, "name": f"{strategy['name']}{evil}"}
        for strategy in study["strategies"]
    ]
    (run / "study.json").write_text(json.dumps(study))
    for name in NAMES:
        for seed in range(6):
            folder = cell_folder(run, name, seed)
            lines = [json.loads(line) for line in (folder / "events.jsonl").open()]
            for line in lines:
                line["config"] = {f"{key}{evil}": value for key, value in line["config"].items()}
                if line["type"] == "end" and line["reason"]:
                    line["reason"] = evil
            rewrite_events(folder, lines)
            edit(folder / "cell.json", strategy=f"{name}{evil}", reason=evil, warnings=[evil])
            folder.rename(cell_folder(run, f"{name}{evil}", seed))
    page = build_report(run).read_text()
    assert "alert(1)" in page, "it is shown"
    for attempt in ("<script>alert", "<img src=x", '"><img'):
        assert attempt not in page
    assert page.count("<script") == 1
    shown = io.StringIO()
    print_study(Console(file=shown, width=200), analyse(read_run(run)))
    assert "\x1b" not in shown.getvalue() and "\\x1b[2J" in shown.getvalue()


def test_what_a_terminal_would_obey_is_spelt_out() -> None:
    assert printable("a\x1b[2Jb\tc\nd\r\x07\x9b\u202e") == "a\\x1b[2Jb\tc\nd\\r\\x07\\x9b\\u202e"
    assert printable("é → 学 🙂") == "é → 学 🙂"


@pytest.mark.parametrize("command", ["report", "show", "baseline"])
def test_messages_are_printable_too(
    run: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "study.json").write_text(json.dumps({"format_version": 1, "\x1b[2J": 1}))
    words = ["harness", command, str(run)]
    words += ["--out", str(run / "b.json")] if command == "baseline" else []
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2 and told.startswith("error: ") and "\x1b" not in told


# Ways out of the folder --------------------------------------------------------------------------


def link_file(folder: Path, outside: Path) -> None:
    (folder / "events.jsonl").rename(outside / "events.jsonl")
    (folder / "events.jsonl").symlink_to(outside / "events.jsonl")


def link_folder(folder: Path, outside: Path) -> None:
    folder.rename(outside / "cell")
    folder.symlink_to(outside / "cell")


def link_in_a_circle(folder: Path, outside: Path) -> None:
    (folder / "events.jsonl").unlink()
    (folder / "events.jsonl").symlink_to("events.jsonl")


def pipe(folder: Path, outside: Path) -> None:
    (folder / "events.jsonl").unlink()
    os.mkfifo(folder / "events.jsonl")


def directory(folder: Path, outside: Path) -> None:
    (folder / "events.jsonl").unlink()
    (folder / "events.jsonl").mkdir()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (link_file, "is a link that leads out of the run folder"),
        (link_folder, "is a link that leads out of the run folder"),
        (link_in_a_circle, "is a link that leads out of the run folder"),
        (pipe, "is not a file"),
        (directory, "cannot be read: Is a directory"),
    ],
)
def test_ways_out(
    run: Path, tmp_path: Path, change: Callable[[Path, Path], None], message: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    change(cell_folder(run, NAMES[0], 0), outside)
    assert message in problem(run)


def test_links_within_the_folder_are_followed(run: Path, tmp_path: Path) -> None:
    folder = cell_folder(run, NAMES[0], 0)
    folder.rename(run / "kept")
    folder.symlink_to(run / "kept")
    (tmp_path / "link").symlink_to(run)
    assert not read_run(tmp_path / "link").problems


def test_a_name_is_no_path(run: Path, tmp_path: Path) -> None:
    study = json.loads((run / "study.json").read_text())
    study["strategies"][0]["name"] = "../../outside"
    (run / "study.json").write_text(json.dumps(study))
    assert ("../../outside", 0) in read_run(run).problems


def test_what_is_written_follows_no_link(run: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("report.html", "results.parquet", "summary.json"):
        (run / name).symlink_to(victim)
    (cell_folder(run, NAMES[0], 0) / "log.txt").symlink_to(victim)
    page = build_report(run).read_text()
    assert victim.read_text() == "mine" and "victim" not in page


# Bombs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["study.json", "cell.json"])
def test_deep_nesting(run: Path, name: str) -> None:
    path = run / name if name == "study.json" else cell_folder(run, NAMES[0], 0) / name
    path.write_text('{"format_version": 1, "study": ' + "[" * 10**6 + "]" * 10**6 + "}")
    if name == "study.json":
        with pytest.raises(UnreadableError, match="recursion limit"):
            read_run(run)
    else:
        assert "recursion limit" in problem(run)


def test_files_beyond_any_run(run: Path) -> None:
    # With holes, so that they take no room.
    os.truncate(cell_folder(run, NAMES[0], 0) / "cell.json", 300 * 2**20)
    assert "cell.json is too large: more than 256 MiB" in problem(run)
    os.truncate(cell_folder(run, NAMES[1], 3) / "events.jsonl", 5 * 2**30)
    with pytest.raises(UsageError, match=r"hold 5\.3 GiB, more than a report can show \(4 GiB\)"):
        read_run(run)
    os.truncate(run / "study.json", 17 * 2**20)
    with pytest.raises(UnreadableError, match=r"study\.json is too large: more than 16 MiB"):
        read_run(run)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seeds": list(range(20_000))}, "seeds: List should have at most 10000 items"),
        ({"seeds": list(range(10_000))}, None),
        ({"seeds": [0, 0]}, "the same one twice"),
        ({"seeds": [10**30]}, "seeds.0: "),
        ({"budget_device_seconds": "Infinity"}, "budget_device_seconds: "),
    ],
)
def test_a_study_of_senseless_size(run: Path, fields: dict[str, Any], message: str | None) -> None:
    edit(run / "study.json", **fields)
    if message is None:
        assert len(read_run(run).problems) == 2 * 10_000 - 12
        return
    with pytest.raises(UnreadableError, match=message):
        read_run(run)


def test_a_million_parameters(run: Path) -> None:
    folder = cell_folder(run, NAMES[0], 0)
    lines = [json.loads(line) for line in (folder / "events.jsonl").open()]
    first = next(line for line in lines if line["type"] == "report")
    first["config"] = {f"p{i}": i for i in range(1_000_000)}
    rewrite_events(folder, lines)
    with pytest.raises(UsageError, match=r"names 1,000,00\d different parameters"):
        read_run(run)


# Baselines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"\xff\xfe", b"[" * 10**6, b'{"format_version": 1}', b'{"format_version": []}',
        b'{"format_version": 1, "study": null, "metric": "", "margins": [], "cells": []}',
    ],
)  # fmt: skip
def test_baselines_that_are_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"b\.json"):
        read_baseline(tmp_path / "b.json")


def test_a_baseline_whose_digests_are_none(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    write_baseline(make_baseline(analyse(read_run(run))), path)
    fields = json.loads(path.read_text())
    fields["cells"][NAMES[0]]["0"]["trials"] = "é"
    path.write_text(json.dumps(fields))
    with pytest.raises(UsageError, match="trials"):
        read_baseline(path)
