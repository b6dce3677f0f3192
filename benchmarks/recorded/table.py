"""A recorded table: real learning curves of many configurations, and what each epoch cost.

One Parquet file. A row is one epoch of one curve (a configuration trained with one seed); what the
rows mean (benchmark, space, data, machines, versions) is a :class:`TableRecord` as JSON in the
file's metadata, under :data:`METADATA_KEY`.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from harness.contract import DeviceKind, UsageError
from harness.contract.files import write_atomically
from harness.contract.records import BenchmarkRecord, ConfigValue, ParameterRecord, Record

TABLE_FORMAT_VERSION: Final = 1
METADATA_KEY = b"recorded_table"
CONFIG_PREFIX = "config."

KEYS = {"curve": pa.int32(), "recording": pa.int16(), "seed": pa.int64(), "epoch": pa.int32()}
SCORES = ("validation_score", "validation_loss", "train_loss", "test_score")
SECONDS = ("start_seconds", "train_seconds", "evaluate_seconds", "checkpoint_seconds")

Config = dict[str, ConfigValue]
T = TypeVar("T")


class Recording(Record):
    """Where and how a part of a table was measured.

    ``seconds``: ``cpu``, the processor time of a single-threaded worker, which other work on the
    machine does not stretch; or ``wall``. Both are device-seconds of all ``workers`` together.
    """

    source: str
    device_kind: DeviceKind
    workers: int
    seconds: Literal["cpu", "wall"]
    versions: dict[str, str]
    machine: dict[str, ConfigValue]
    git_commit: str | None
    recorded_at: str


class TableRecord(Record):
    format_version: Literal[1] = TABLE_FORMAT_VERSION
    benchmark: BenchmarkRecord
    recordings: list[Recording]


@dataclass(frozen=True)
class Epoch:
    """One epoch's scores (NaN, ±inf: diverged; ``None``: not measured) and its device-seconds.

    ``start_seconds`` is the trial's start, in its first epoch, and 0 in the others.
    """

    validation_score: float
    validation_loss: float | None
    train_loss: float | None
    test_score: float | None
    start_seconds: float
    train_seconds: float
    evaluate_seconds: float
    checkpoint_seconds: float


@dataclass(frozen=True)
class Curve:
    """A configuration trained with one seed, to the epochs cap or to its divergence."""

    config: Config
    seed: int
    recording: int
    epochs: tuple[Epoch, ...]

    @property
    def key(self) -> str:
        """The same for the same configuration and seed, in whatever order its names come."""
        return curve_key(self.config, self.seed)

    @property
    def diverged(self) -> bool:
        return not math.isfinite(self.epochs[-1].validation_score)


def curve_key(config: Config, seed: int) -> str:
    return json.dumps([config, seed], sort_keys=True)


@dataclass(frozen=True)
class RecordedTable:
    record: TableRecord
    curves: tuple[Curve, ...]

    def with_curves(self, curves: Iterable[Curve]) -> RecordedTable:
        """The table with those of ``curves`` that it has not yet."""
        known = {curve.key: curve for curve in self.curves}
        for curve in curves:
            known.setdefault(curve.key, curve)
        return RecordedTable(self.record, tuple(known.values()))

    def by_config(self) -> dict[str, list[Curve]]:
        """Each configuration's curves, by its key with seed 0."""
        groups: dict[str, list[Curve]] = {}
        for curve in self.curves:
            groups.setdefault(curve_key(curve.config, 0), []).append(curve)
        return groups


def write_table(table: RecordedTable, path: Path) -> None:
    """Write the file whole or not at all."""
    rows = [
        (index, curve, number, epoch)
        for index, curve in enumerate(table.curves)
        for number, epoch in enumerate(curve.epochs, start=1)
    ]
    columns: dict[str, Any] = {
        "curve": [index for index, *_ in rows],
        "recording": [curve.recording for _, curve, _, _ in rows],
        "seed": [curve.seed for _, curve, _, _ in rows],
        "epoch": [number for _, _, number, _ in rows],
    }
    arrays = {name: pa.array(values, KEYS[name]) for name, values in columns.items()}
    for name, parameter in table.record.benchmark.space.items():
        values = [curve.config[name] for _, curve, _, _ in rows]
        arrays[CONFIG_PREFIX + name] = _config_array(values, parameter)
    for name in (*SCORES, *SECONDS):
        arrays[name] = pa.array([getattr(epoch, name) for *_, epoch in rows], pa.float64())
    metadata = {METADATA_KEY: table.record.model_dump_json().encode()}
    file = io.BytesIO()
    pq.write_table(pa.table(arrays).replace_schema_metadata(metadata), file, compression="zstd")
    write_atomically(path, file.getvalue())


def _config_array(values: Sequence[ConfigValue], parameter: ParameterRecord) -> pa.Array:
    if parameter.type == "float":
        return pa.array(values, pa.float64())
    if parameter.type == "integer":
        return pa.array(values, pa.int64())
    # A choice's values may be of several types: their JSON keeps each as it is.
    return pa.array([json.dumps(value) for value in values], pa.string())


def read_table(path: Path) -> RecordedTable:
    """Read a table, finished or still being recorded.

    Raises:
        UsageError: no such file, not a recorded table, of another format version, a column is
            missing, a value is out of place; the message says which and what to do.
    """
    content = _parquet(path, pq.read_table)
    record = _record_in(path, content.schema.metadata or {})
    wanted = [*KEYS, *SCORES, *SECONDS, *(CONFIG_PREFIX + name for name in record.benchmark.space)]
    if missing := sorted(set(wanted) - set(content.column_names)):
        raise UsageError(
            f"{path} lacks the column(s) {', '.join(missing)}: it is damaged or was edited; "
            f"restore it, or record it again with {RECORD}"
        )
    try:
        curves = _curves(content, record)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: {error}; restore it, or record it again with {RECORD}") from None
    return RecordedTable(record, curves)


def read_record(path: Path) -> TableRecord:
    """What a table says of itself, without its curves; the same errors as :func:`read_table`."""
    return _record_in(path, _parquet(path, pq.read_schema).metadata or {})


RECORD = "`python -m harness record`"


def _parquet(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except FileNotFoundError:
        raise UsageError(f"there is no recorded table {path}; make one with {RECORD}") from None
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"{path} is not a Parquet file that can be read: {error}") from None


def _record_in(path: Path, metadata: Mapping[bytes, bytes]) -> TableRecord:
    if METADATA_KEY not in metadata:
        raise UsageError(f"{path} is no recorded table (its metadata says nothing of one); "
                         f"make one with {RECORD}")  # fmt: skip
    try:
        fields = json.loads(metadata[METADATA_KEY])
        version = fields["format_version"]
    except (ValueError, TypeError, KeyError):
        raise UsageError(f"{path} is damaged: its metadata cannot be read") from None
    if version != TABLE_FORMAT_VERSION:
        raise UsageError(
            f"{path} has table format version {version!r}; this harness reads version "
            f"{TABLE_FORMAT_VERSION}: use the harness that wrote it, or record it again"
        )
    try:
        return TableRecord.model_validate(fields)
    except ValidationError as error:
        mistake = error.errors()[0]
        where = ".".join(str(part) for part in mistake["loc"])
        raise UsageError(f"{path} is damaged: {where}: {mistake['msg']}") from None


def _curves(content: pa.Table, record: TableRecord) -> tuple[Curve, ...]:
    columns = {name: content.column(name).to_pylist() for name in content.column_names}
    space = record.benchmark.space
    starts = [row for row, epoch in enumerate(columns["epoch"]) if epoch == 1]
    if starts[:1] != [0] and content.num_rows:
        raise ValueError("its first curve does not begin with epoch 1")
    curves = []
    for first, end in zip(starts, [*starts[1:], content.num_rows], strict=True):
        number = columns["curve"][first]
        rows = range(first, end)
        if [columns["epoch"][row] for row in rows] != list(range(1, len(rows) + 1)):
            raise ValueError(f"curve {number} does not have its epochs 1, 2, 3, … in order")
        config = {
            name: _config_value(columns[CONFIG_PREFIX + name][first], parameter)
            for name, parameter in space.items()
        }
        _check_config(number, config, space)
        if not 0 <= columns["recording"][first] < len(record.recordings):
            raise ValueError(f"curve {number} is of no recording that the metadata describe")
        epochs = tuple(
            Epoch(**{name: columns[name][row] for name in (*SCORES, *SECONDS)}) for row in rows
        )
        _check_epochs(number, epochs, record.benchmark.max_epochs)
        curves.append(Curve(config, columns["seed"][first], columns["recording"][first], epochs))
    return tuple(curves)


def _config_value(stored: Any, parameter: ParameterRecord) -> ConfigValue:
    value: ConfigValue = json.loads(stored) if parameter.type == "categorical" else stored
    return value


def _check_config(number: int, config: Config, space: Mapping[str, ParameterRecord]) -> None:
    for name, parameter in space.items():
        if not is_inside(config[name], parameter):
            allowed = (
                f"one of {parameter.choices}"
                if parameter.type == "categorical"
                else f"from {parameter.low} to {parameter.high}"
            )
            raise ValueError(
                f"curve {number} has {name} = {config[name]!r}, which is outside of the table's "
                f"own space ({allowed})"
            )


def is_inside(value: object, parameter: ParameterRecord) -> bool:
    """Whether a space has this value; a float may miss its bounds by rounding."""
    if parameter.type == "categorical":
        # As JSON, since True == 1 == 1.0.
        return json.dumps(value) in map(json.dumps, parameter.choices)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    assert parameter.low is not None and parameter.high is not None
    slack = 1e-9 * max(abs(parameter.low), abs(parameter.high))
    return parameter.low - slack <= value <= parameter.high + slack


def _check_epochs(number: int, epochs: tuple[Epoch, ...], max_epochs: int) -> None:
    *before, last = epochs
    for place, epoch in enumerate(before, start=1):
        if epoch.validation_score is None or not math.isfinite(epoch.validation_score):
            raise ValueError(
                f"curve {number} has no finite score at epoch {place} of {len(epochs)} "
                "(only its last epoch may have none, where it diverged)"
            )
    if len(epochs) > max_epochs:
        raise ValueError(f"curve {number} has {len(epochs)} epochs, above the cap of {max_epochs}")
    if last.validation_score is None:
        raise ValueError(f"curve {number} has no score at its last epoch, {len(epochs)}")
    if len(epochs) < max_epochs and math.isfinite(last.validation_score):
        raise ValueError(
            f"curve {number} has {len(epochs)} epochs where the cap is {max_epochs}, "
            "and did not diverge"
        )
    for epoch in epochs:
        for name in SECONDS:
            seconds = getattr(epoch, name)
            if seconds is None or not (math.isfinite(seconds) and seconds >= 0):
                raise ValueError(f"curve {number} has {name} {seconds!r}")
