"""From a table's file to what can be replayed: read once, checked, with a surrogate if need be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.noise import Noise
from benchmarks.recorded.one_machine import on_one_machine
from benchmarks.recorded.table import (
    RECORD,
    SCORES,
    SECONDS,
    Curve,
    RecordedTable,
    read_table,
)
from harness.contract import HarnessError, UsageError

if TYPE_CHECKING:
    from benchmarks.recorded.surrogate import Surrogate

Track = Mapping[str, list[Any]]
"""A whole curve by column (those of :data:`SCORES` and :data:`SECONDS`), a value per epoch."""


class Replay:
    """The curve of any configuration and seed: as recorded where it was, else as predicted.

    Seconds are those of ``table``: see :func:`benchmarks.recorded.one_machine.on_one_machine`.
    """

    def __init__(self, table: RecordedTable) -> None:
        self.table = table
        self.is_processor_time = all(part.seconds == "cpu" for part in table.record.recordings)
        self._recorded: dict[str, dict[int, Track]] = {}
        for curve in table.curves:
            self._recorded.setdefault(_key(curve.config), {})[curve.seed] = track_of(curve)

    def track(self, config: Mapping[str, Any], seed: int) -> Track:
        """Deterministic. A seed that was not recorded gets one of those that were."""
        by_seed = self._recorded.get(_key(config))
        if by_seed is None:
            return self._surrogate.predict(config, seed)
        if seed not in by_seed:
            recorded = sorted(by_seed)
            seed = recorded[Noise(config, seed).integer() % len(recorded)]
        return by_seed[seed]

    def prepare(self) -> None:
        """Fit the surrogate now, which takes seconds, and not at the first configuration."""
        _ = self._surrogate

    @cached_property
    def _surrogate(self) -> Surrogate:
        # Late, as a table whose recorded configurations are all that is asked for needs none.
        from benchmarks.recorded.surrogate import Surrogate

        return Surrogate(self.table)


def track_of(curve: Curve) -> Track:
    return {
        column: [getattr(epoch, column) for epoch in curve.epochs] for column in (*SCORES, *SECONDS)
    }


def _key(config: Mapping[str, Any]) -> str:
    # ``item`` makes numpy's numbers plain.
    return json.dumps(config, sort_keys=True, default=lambda value: value.item())


def whole_table(path: Path) -> tuple[RecordedTable, str]:
    """A table that can be replayed, and the SHA-256 of its file.

    Raises:
        UsageError: as :func:`read_table`, or there is too little to replay.
    """
    sha256 = _sha256(path)
    return _replay(path, sha256).table, sha256


def replay_of(path: Path, sha256: str) -> Replay:
    """The replay of the very table that a study was started with.

    Raises:
        HarnessError: the file has changed since.
    """
    if (found := _sha256(path)) != sha256:
        raise HarnessError(
            f"{path} has changed since the study was started: its SHA-256 is {found[:16]}…, not "
            f"{sha256[:16]}…"
        )
    return _replay(path, sha256)


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(
            f"the recorded table {path} cannot be read ({error.strerror}); make one with {RECORD}"
        ) from None


@lru_cache(maxsize=4)
def _replay(path: Path, sha256: str) -> Replay:
    table = read_table(path)
    configs = table.by_config()
    if len(configs) < 2:
        raise UsageError(
            f"{path} has {len(configs)} configuration(s), which leaves nothing to choose between; "
            f"record more with {RECORD}"
        )
    kinds = sorted({table.record.recordings[curve.recording].device_kind for curve in table.curves})
    if len(kinds) > 1:
        raise UsageError(
            f"{path} was recorded on {' and '.join(kinds)}, whose seconds cannot be compared: "
            "record a table on one kind of device"
        )
    return Replay(on_one_machine(table))
