"""The recorded table's file: what is written comes back, and what is damaged is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.recorded.table import (
    METADATA_KEY,
    Curve,
    Epoch,
    RecordedTable,
    Recording,
    TableRecord,
    read_table,
    write_table,
)
from harness.contract import UsageError
from harness.contract.records import BenchmarkRecord, ConfigValue, ParameterRecord

SPACE = {
    "lr": ParameterRecord(type="float", low=1e-4, high=1.0, log=True),
    "depth": ParameterRecord(type="integer", low=1, high=4),
    "kind": ParameterRecord(type="categorical", choices=["a", 2, None, True]),
}


def epoch(score: float) -> Epoch:
    return Epoch(score, None, 0.5, score - 0.01, 0.1, 2.0, 0.2, 0.01)


def curve(config: dict[str, ConfigValue], *scores: float, seed: int = 0) -> Curve:
    return Curve(config, seed, 0, tuple(map(epoch, scores)))


def table(*curves: Curve) -> RecordedTable:
    benchmark = BenchmarkRecord(
        name="toy", options={}, metric="score", mode="max", test_metric="test", max_epochs=2,
        space=SPACE, dataset_source="generated", dataset_sha256="", data_seed=0,
    )  # fmt: skip
    recording = Recording(
        source="test", device_kind="CPU", workers=1, seconds="cpu", versions={}, machine={},
        git_commit=None, recorded_at="",
    )  # fmt: skip
    return RecordedTable(TableRecord(benchmark=benchmark, recordings=[recording]), curves)


CURVES = (
    curve({"lr": 0.1, "depth": 1, "kind": "a"}, 0.1 + 0.2, 0.7),
    curve({"lr": 1e-4, "depth": 4, "kind": 2}, 0.1, math.nan),
    curve({"lr": 1e-4, "depth": 4, "kind": None}, -math.inf, seed=3),
    curve({"lr": 1e-4, "depth": 4, "kind": True}, 0.5, 0.25),
)


def test_a_table_comes_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    written = table(*CURVES)
    write_table(written, path)
    read = read_table(path)
    assert read.record == written.record
    assert repr(read.curves) == repr(written.curves), "NaN is not equal to itself"
    assert [c.diverged for c in read.curves] == [False, True, True, False]


def test_a_curve_is_there_once_whatever_the_order_of_its_names() -> None:
    grown = table(*CURVES).with_curves(
        [
            curve({"kind": "a", "depth": 1, "lr": 0.1}, 0.9, 0.9),
            curve({"lr": 0.1, "depth": 1, "kind": "a"}, 0.9, 0.9, seed=1),
        ]
    )
    assert len(grown.curves) == len(CURVES) + 1
    assert grown.curves[0] == CURVES[0], "the one that was there stays"


def edited(path: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(edit(pq.read_table(path)), path)


def with_metadata(content: pa.Table, **changes: object) -> pa.Table:
    record = json.loads(content.schema.metadata[METADATA_KEY]) | changes
    return content.replace_schema_metadata({METADATA_KEY: json.dumps(record)})


def with_column(content: pa.Table, name: str, values: list[object]) -> pa.Table:
    place = content.schema.get_field_index(name)
    return content.set_column(place, name, pa.array(values, content.schema.field(name).type))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: with_metadata(t, format_version=2), "format version 2"),
        (lambda t: with_metadata(t, benchmark={}), "benchmark.name"),
        (lambda t: t.replace_schema_metadata({}), "no recorded table"),
        (lambda t: t.replace_schema_metadata({METADATA_KEY: b"{"}), "metadata"),
        (lambda t: t.drop_columns(["train_seconds", "config.lr"]), "config.lr, train_seconds"),
        (lambda t: t.slice(1), "does not begin with epoch 1"),
        (lambda t: t.slice(0, 1), "1 epochs where the cap is 2"),
        (
            lambda t: with_column(t, "validation_score", [math.nan, *[0.5] * 6]),
            "no finite score at epoch 1 of 2",
        ),
        (lambda t: with_column(t, "epoch", [1, 3, 1, 2, 1, 1, 2]), "in order"),
        (lambda t: with_column(t, "train_seconds", [math.nan, *[0.5] * 6]), "train_seconds nan"),
        (lambda t: with_column(t, "train_seconds", [-1.0, *[0.5] * 6]), "train_seconds -1.0"),
        (lambda t: with_column(t, "validation_score", [None, *[0.5] * 6]), "curve 0"),
    ],
)
def test_a_damaged_table_is_refused(
    edit: Callable[[pa.Table], pa.Table], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    write_table(table(*CURVES), path)
    edited(path, edit)
    with pytest.raises(UsageError, match=r"(?s)table\.parquet") as raised:
        read_table(path)
    assert message in str(raised.value)


def test_what_is_no_table_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no recorded table"):
        read_table(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(UsageError, match="not a Parquet file"):
        read_table(tmp_path / "text.parquet")
