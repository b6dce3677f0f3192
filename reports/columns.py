"""A cell's reports as columns, and as the compressed lines that they were read from.

As records the million reports of a long study would take 5 GB. Every analysis that goes over all of
them reads columns; the few that need all of a report (its spans above all) of one cell make records
from its lines again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harness.contract.records import KINDS, ConfigValue, Report

Config = Mapping[str, ConfigValue]

KIND_COLUMNS = tuple(f"trial_{kind}_device_seconds" for kind in KINDS)
TYPES: dict[str, pa.DataType] = {
    "tune_id": pa.string(),
    "decision": pa.string(),
    **dict.fromkeys(("trial", "attempt", "slot", "epoch", "rung"), pa.int64()),
    **dict.fromkeys(("parent_trial", "parent_epoch"), pa.int64()),
    **dict.fromkeys(
        (
            "validation_score", "validation_loss", "train_loss", "test_score", "started_s",
            "reported_s", "held_device_seconds",
        ),
        pa.float64(),
    ),
    **dict.fromkeys(KIND_COLUMNS, pa.float64()),
    "is_incumbent": pa.bool_(),
}  # fmt: skip
"""The columns of plain fields. ``None`` is a null, and not the same as NaN."""

_FIELDS = tuple(name for name in TYPES if name in Report.model_fields)
_FIELDS_OF = attrgetter(*_FIELDS)
_BATCH = 2000
"""So many reports are records at a time: few enough to stay in the processor's caches."""


@dataclass(frozen=True)
class ReportColumns:
    """``plain``: a column for each of ``TYPES``. ``configs[config_of[i]]`` is what report ``i`` was
    trained with: a trial's epochs share theirs."""

    plain: pa.Table
    configs: tuple[Config, ...]
    config_of: NDArray[np.int64]

    @classmethod
    def of(cls, reports: Iterable[Report]) -> ReportColumns:
        remaining = iter(reports)
        tables = [_plain([])]
        configs: list[Config] = []
        config_of: list[int] = []
        last: dict[int, int] = {}
        while batch := list(islice(remaining, _BATCH)):
            tables.append(_plain(batch))
            for report in batch:
                place = last.get(report.trial)
                if place is None or not _are_alike(configs[place], report.config):
                    last[report.trial] = place = len(configs)
                    configs.append(report.config)
                config_of.append(place)
        plain = pa.concat_tables(tables).combine_chunks()
        return cls(plain, tuple(configs), np.array(config_of, dtype=np.int64))


def _are_alike(one: Config, other: Config) -> bool:
    # 1, 1.0 and True are equal, but not the same in a table.
    return one == other and [*map(type, one.values())] == [*map(type, other.values())]


def _plain(reports: Sequence[Report]) -> pa.Table:
    fields = zip(*map(_FIELDS_OF, reports), strict=True)
    columns: dict[str, Sequence[Any]] = dict(zip(_FIELDS, fields, strict=False))
    parents = [report.parent for report in reports]
    columns["parent_trial"] = [None if parent is None else parent.trial for parent in parents]
    columns["parent_epoch"] = [None if parent is None else parent.epoch for parent in parents]
    seconds = [report.trial_device_seconds.get for report in reports]
    for kind, column in zip(KINDS, KIND_COLUMNS, strict=True):
        columns[column] = [of(kind, 0.0) for of in seconds]
    return pa.table(
        {name: pa.array(columns.get(name, ()), type=kind) for name, kind in TYPES.items()}
    )


class StoredReports(Sequence[Report]):
    """Reports that are records only while they are looked at: going through them reads their lines
    again."""

    def __init__(self, columns: ReportColumns, lines: bytes) -> None:
        """``lines``: JSON, a report each, already found to be valid."""
        self.columns = columns
        self._compressed = pa.compress(lines, codec="zstd", asbytes=True)
        self._bytes = len(lines)

    def __len__(self) -> int:
        return len(self.columns.config_of)

    def __iter__(self) -> Iterator[Report]:
        return map(Report.model_validate_json, self._lines())

    @overload
    def __getitem__(self, place: int) -> Report: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Report]: ...
    def __getitem__(self, place: int | slice) -> Report | Sequence[Report]:
        lines = self._lines()
        if isinstance(place, slice):
            return tuple(map(Report.model_validate_json, lines[place]))
        return Report.model_validate_json(lines[place])

    def _lines(self) -> list[bytes]:
        lines: bytes = pa.decompress(self._compressed, self._bytes, codec="zstd", asbytes=True)
        return lines.splitlines()
