"""A table that was recorded on several machines, with the seconds of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median

from benchmarks.recorded.table import SECONDS, Curve, RecordedTable

Scale = dict[str, float]
"""By column of :data:`SECONDS`."""


def on_one_machine(table: RecordedTable) -> RecordedTable:
    """The table in the seconds of its first recording's machine.

    Without this, a configuration would be quick or slow by where it happened to be recorded. The
    seconds of another recording are taken times the median ratio, column by column, over the
    configurations that both have; where they share none, they stay as they are.
    """
    seconds: defaultdict[int, dict[str, Scale]] = defaultdict(dict)
    for config, curves in table.by_config().items():
        for recording in {curve.recording for curve in curves}:
            own = [curve for curve in curves if curve.recording == recording]
            seconds[recording][config] = {column: _mean(own, column) for column in SECONDS}
    scales = {
        recording: {column: _ratio(seconds[0], other, column) for column in SECONDS}
        for recording, other in seconds.items()
        if recording != 0
    }
    return RecordedTable(
        table.record,
        tuple(
            _scaled(curve, scales[curve.recording]) if curve.recording in scales else curve
            for curve in table.curves
        ),
    )


def _mean(curves: Sequence[Curve], column: str) -> float:
    return fmean(getattr(epoch, column) for curve in curves for epoch in curve.epochs)


def _ratio(one: dict[str, Scale], other: dict[str, Scale], column: str) -> float:
    ratios = [
        one[config][column] / other[config][column]
        for config in one.keys() & other.keys()
        if other[config][column] > 0
    ]
    return median(ratios) if ratios else 1.0


def _scaled(curve: Curve, scale: Scale) -> Curve:
    epochs = (
        replace(epoch, **{column: getattr(epoch, column) * scale[column] for column in SECONDS})
        for epoch in curve.epochs
    )
    return replace(curve, epochs=tuple(epochs))
