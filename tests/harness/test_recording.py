"""``record``: the design, going on, and collecting from runs."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.recorded.table import RecordedTable, read_table, write_table
from harness.cli import app
from harness.contract import UsageError
from harness.contract.records import ParameterRecord
from harness.recording.condition import parse_condition
from harness.recording.design import design
from harness.recording.target import open_table
from tests.benchmarks.make_table import make_table

SPACE = {
    "lr": ParameterRecord(type="float", low=1e-5, high=1.0, log=True),
    "dropout": ParameterRecord(type="float", low=0.0, high=0.7),
    "depth": ParameterRecord(type="integer", low=1, high=4),
    "width": ParameterRecord(type="integer", low=64, high=512, log=True),
    "batch": ParameterRecord(type="categorical", choices=[128, 256, None]),
}


@given(count=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
def test_a_design_lies_in_its_space_and_can_grow(count: int, seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = design(SPACE, count, seed)
    assert len(points) == count
    assert points == design(SPACE, count + 7, seed)[:count]
    for point in points:
        assert 1e-5 <= point["lr"] <= 1.0 and 0 <= point["dropout"] <= 0.7  # type: ignore[operator]
        assert point["depth"] in (1, 2, 3, 4) and point["batch"] in (128, 256, None)
        assert 64 <= point["width"] <= 512 and isinstance(point["width"], int)  # type: ignore[operator]


def test_a_design_fills_its_space_evenly() -> None:
    points = design(SPACE, 256, seed=1)
    depths = [sum(point["depth"] == depth for point in points) for depth in (1, 2, 3, 4)]
    assert depths == [64, 64, 64, 64]
    below = sum(point["lr"] < 10**-2.5 for point in points)  # type: ignore[operator]
    assert below == 128, "half of a log-uniform range lies below its geometric mean"
    assert abs(np.mean([point["dropout"] for point in points]) - 0.35) < 0.005  # type: ignore[misc]


def record(out: Path, *words: str) -> RecordedTable:
    toy = Path(__file__).with_name("toy_benchmark.py")
    arguments = ["record", "--benchmark", "toy", "--benchmark-file", str(toy), "--out", str(out)]
    result = CliRunner().invoke(app, [*arguments, "--jobs", "1", *words])
    assert result.exit_code == 0, (result.output, result.exception)
    return read_table(out)


def test_recording_goes_on_and_grows(tmp_path: Path) -> None:
    out = tmp_path / "tables" / "toy.parquet"
    small = record(out, "--configs", "2", "--repeat-configs", "1", "--repeat-seeds", "2")
    assert [curve.seed for curve in small.curves] == [0, 1, 0]
    grown = record(out, "--configs", "3")
    assert grown.curves[:3] == small.curves, "what was recorded is not trained again"
    assert len(grown.curves) == 4 and len(grown.record.recordings) == 1
    for curve in grown.curves:
        assert len(curve.epochs) == grown.record.benchmark.max_epochs
        assert curve.epochs[0].train_seconds > 0


def test_seeds_are_repeated_where_a_parameter_is_large(tmp_path: Path) -> None:
    words = ["--repeat-where", "x > 0.3", "--repeat-seeds", "2"]
    table = record(tmp_path / "toy.parquet", "--configs", "8", *words)
    seeds: dict[float, list[int]] = {}
    for curve in table.curves:
        x = curve.config["x"]
        assert isinstance(x, float)
        seeds.setdefault(x, []).append(curve.seed)
    assert len(seeds) == 8 and 0 < sum(x > 0.3 for x in seeds) < 8
    assert all(drawn == ([0, 1] if x > 0.3 else [0]) for x, drawn in seeds.items())


@pytest.mark.parametrize(
    "text, said",
    [
        ("lr", "must be NAME>NUMBER"), ("lr>high", "must be NAME>NUMBER"),
        ("lr>=1", "must be NAME>NUMBER"), ("lr>nan", "must be NAME>NUMBER"),
        ("batch>1", "no numeric parameter of the benchmark; these are: lr, dropout, depth, width"),
        ("rl<1", "'rl' is no numeric parameter"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_meant(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_condition(text, SPACE)


def test_a_table_of_another_benchmark_is_not_added_to(tmp_path: Path) -> None:
    out = tmp_path / "toy.parquet"
    record(out, "--configs", "2")
    toy = Path(__file__).with_name("toy_benchmark.py")
    words = ["record", "--benchmark", "toy", "--benchmark-file", str(toy), "--out", str(out)]
    result = CliRunner().invoke(app, [*words, "--benchmark-option", "max_epochs=3"])
    assert isinstance(result.exception, UsageError)
    assert "another options" in str(result.exception)


def test_targets_are_no_other_benchmark(tmp_path: Path) -> None:
    """Tables recorded before there were any go on."""
    before = make_table(configs=2)
    write_table(before, tmp_path / "table.parquet")
    now = before.record.benchmark.model_copy(update={"targets": [0.5, 0.9]})
    table, number = open_table(tmp_path / "table.parquet", now, before.record.recordings[0])
    assert (table, number) == (before, 0)


@pytest.mark.parametrize("words", [[], ["--benchmark", "toy", "--from", "runs/x"]])
def test_one_source_is_asked_for(words: list[str], tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "t.parquet")]
    result = CliRunner().invoke(app, ["record", *words, *out])
    assert isinstance(result.exception, UsageError)
    assert "either --benchmark" in str(result.exception)
