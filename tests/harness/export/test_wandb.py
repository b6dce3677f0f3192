"""W&B in offline mode, read back from its own files."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from harness.contract import HarnessError
from harness.export.export import export_run
from harness.export.targets import parse_target
from reports.store import cell_folder
from tests.harness.export.conftest import ASHA_EVENTS, PBT, PBT_EVENTS, trial_count
from tests.harness.export.wandb_file import records


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)


def read(run_folder: Path) -> dict[str, dict[str, Any]]:
    """What each offline run's file holds, by the run's name."""
    found: dict[str, dict[str, Any]] = {}
    for file in run_folder.glob("wandb/offline-run-*/run-*.wandb"):
        fields: defaultdict[str, Any] = defaultdict(dict, history=[], artifacts=[])
        for record in records(file):
            match record.WhichOneof("record_type"):
                case "run" if not fields["name"]:
                    run = record.run
                    fields |= {"name": run.display_name, "group": run.run_group, "id": run.run_id}
                    fields |= {"tags": list(run.tags), "kind": run.job_type}
                    fields["config"] |= {i.key: json.loads(i.value_json) for i in run.config.update}
                case "config":
                    updates = record.config.update
                    fields["config"] |= {item.key: json.loads(item.value_json) for item in updates}
                case "history":
                    items = record.history.item
                    fields["history"].append(
                        {i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items}
                    )
                case "summary":
                    fields["summary"] |= {
                        i.key or "/".join(i.nested_key): json.loads(i.value_json)
                        for i in record.summary.update
                    }
                case "artifact":
                    fields["artifacts"].append([e.path for e in record.artifact.manifest.contents])
                case "exit":
                    fields["exit"] = record.exit.exit_code
        assert fields["name"] not in found, "the same run twice"
        found[fields["name"]] = dict(fields)
    return found


def test_every_trial_is_a_run_of_its_cells_group(run_folder: Path) -> None:
    count = 3 + trial_count(ASHA_EVENTS) + trial_count(PBT_EVENTS)
    assert export_run(run_folder, parse_target("wandb:team/project")).startswith(f"{count} runs")
    runs = read(run_folder)
    assert len(runs) == count
    trial = runs["random/asha seed 0 trial 0"]
    assert trial["group"] == runs["random/asha seed 0"]["group"] == "mine random-asha--seed-0"
    assert [trial["kind"], runs["random/asha seed 0"]["kind"]] == ["trial", "cell"]
    assert set(trial["tags"]) == {
        "strategy:random/asha", "seed:0", "cell:random-asha--seed-0", "study:mine",
    }  # fmt: skip
    assert trial["config"]["lr"] == 0.1 and trial["config"]["optimizer"] == "sgd"
    assert trial["config"]["harness"]["strategy"] == "random/asha"
    assert [(p["epoch"], p["validation_accuracy"]) for p in trial["history"]] == [
        (1, 0.5), (2, 0.7), (3, 0.6),
    ]  # fmt: skip
    assert trial["summary"]["status"] == "finished"
    assert trial["summary"]["best/validation_accuracy"] == 0.7
    exits = {number: runs[f"random/asha seed 0 trial {number}"]["exit"] for number in range(6)}
    assert exits == {0: 0, 1: 0, 2: 1, 3: 1, 4: 255, 5: 255}
    assert runs["mine"]["artifacts"] == [["report.html"]]


def test_again_and_gone_on_with(run_folder: Path) -> None:
    """Complete runs stay as they are; those of an interrupted cell are written anew."""
    folder = cell_folder(run_folder, *PBT)
    record, events = (folder / "cell.json").read_bytes(), (folder / "events.jsonl").read_bytes()
    (folder / "cell.json").unlink()
    (folder / "events.jsonl").write_bytes(b"".join(events.splitlines(keepends=True)[:2]))
    export_run(run_folder, parse_target("wandb"))
    files = {path: path.stat().st_mtime_ns for path in run_folder.glob("wandb/*/*.wandb")}
    before = read(run_folder)
    assert len(before["pbt seed 0 trial 1"]["history"]) == 1

    (folder / "events.jsonl").write_bytes(events)
    (folder / "cell.json").write_bytes(record)
    export_run(run_folder, parse_target("wandb"))
    after = read(run_folder)
    assert after.keys() == before.keys()
    assert [point["epoch"] for point in after["pbt seed 0 trial 1"]["history"]] == [1, 2, 3]
    assert after["pbt seed 0 trial 1"]["id"] == before["pbt seed 0 trial 1"]["id"]
    same = [path for path, at in files.items() if path.exists() and path.stat().st_mtime_ns == at]
    assert len(same) == 1 + trial_count(ASHA_EVENTS)


def test_disabled_is_not_silent(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    with pytest.raises(HarnessError, match="WANDB_MODE is 'disabled'"):
        export_run(run_folder, parse_target("wandb"))
