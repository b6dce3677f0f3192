"""Several runs as one study, and as several."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from reports.merge import environment_differences, group_runs
from reports.run import Run
from tests.reports.make_run import scored_run, study


def at(path: str, run: Run, **fields: object) -> Run:
    record = run.study.model_copy(update=fields)
    return dataclasses.replace(run, path=Path(path), study=record)


def test_runs_of_the_same_question_are_one_study() -> None:
    one = at("runs/one", scored_run(a=[0.1, 0.2]), decisions=["look closer"])
    two = at("runs/two", scored_run(b=[0.3, 0.4, 0.5]), decisions=["use b"])
    (group,) = group_runs([one, two])
    assert [s.name for s in group.run.study.strategies] == ["a", "b"]
    assert group.run.study.seeds == [0, 1, 2]
    assert group.run.study.decisions == ["look closer", "use b"]
    assert set(group.run.cells) == {("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)}
    assert group.run.problems == {("a", 2): "no run has this cell"}
    assert group.folders["b", 1] == Path("runs/two")
    assert group.sources == (one, two)
    assert group.remarks == ()


def test_another_budget_is_another_question() -> None:
    one, two = scored_run(a=[0.1]), scored_run(a=[0.2])
    groups = group_runs([one, at("runs/two", two, budget_device_seconds=7.0), one])
    assert [len(group.sources) for group in groups] == [2, 1]


def test_targets_and_caveats_are_no_question() -> None:
    benchmark = study().benchmark.model_copy(update={"targets": [0.9], "caveats": ["a table"]})
    assert (
        len(group_runs([scored_run(a=[0.1]), at("x", scored_run(a=[0.1]), benchmark=benchmark)]))
        == 1
    )


def test_a_cell_that_two_runs_have() -> None:
    one, two = scored_run(a=[0.1]), at("runs/two", scored_run(a=[0.2]))
    cell = two.cells["a", 0]
    record = cell.record.model_copy(update={"events_sha256": "other"})
    two = dataclasses.replace(two, cells={("a", 0): dataclasses.replace(cell, record=record)})
    (group,) = group_runs([one, two])
    assert group.run.cells["a", 0] == one.cells["a", 0]
    assert group.remarks == (
        "a, seed 0 is in runs/test and, with other results, in runs/two: the first counts.",
    )


def test_what_differs_between_runs() -> None:
    one = scored_run(a=[0.1])
    versions = one.study.versions | {"ray": "2.61.0", "new": "1"}
    table = environment_differences([one, at("runs/two", one, versions=versions)])
    assert table.to_dict("index") == {
        "ray": {"runs/test": "2.60.0", "runs/two": "2.61.0"},
        "new": {"runs/test": "–", "runs/two": "1"},
    }
    assert environment_differences([one]).empty
