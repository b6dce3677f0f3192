"""TensorBoard: a folder of event files per trial, with its parameters for the HPARAMS page.

``FOLDER/STUDY-ID/CELL/trial-00012``; the study's own folder has a copy of the report. What an
earlier push wrote of a cell is written anew, so that nothing is there twice.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import (
    HParamsPluginData,
    SessionEndInfo,
    SessionStartInfo,
)
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from harness.contract.records import ConfigValue
from harness.export.tracked import Outcome, TrackedRun

EVENT_FILES = "events.out.tfevents.*"
_STATUSES: dict[Outcome, int] = {
    "finished": api_pb2.STATUS_SUCCESS,
    "failed": api_pb2.STATUS_FAILURE,
    "killed": api_pb2.STATUS_UNKNOWN,
}


class TensorBoardSink:
    """A :class:`harness.export.sink.Sink`."""

    def __init__(self, folder: Path, root: TrackedRun) -> None:
        self._folder = folder / f"{root.name}-{root.tags['study_id']}"
        self._writers: dict[str, _Writer] = {}
        self._cells: set[str] = set()

    def push(self, run: TrackedRun) -> None:
        if run.kind == "study":
            self._copy(run.files)
            return
        folder = self._folder / run.tags["cell"]
        if run.kind == "cell":
            if run.key not in self._cells:
                self._cells.add(run.key)
                _remove_events(folder)
            if not run.is_done:
                return
        else:
            folder /= f"trial-{int(run.tags['trial']):05d}"
        writer = self._writers.get(run.key)
        if writer is None:
            writer = self._writers[run.key] = _Writer(folder, run)
        writer.write(run)
        if run.end is not None:
            self._writers.pop(run.key).close()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()

    def _copy(self, files: list[Path]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copyfile(path, self._folder / path.name)


class _Writer:
    """One run's event file, from its start on."""

    def __init__(self, folder: Path, run: TrackedRun) -> None:
        self._events = EventFileWriter(str(folder))
        self._written = 0
        facts = {name: run.tags[name] for name in ("study", "cell", "strategy", "seed")}
        start = SessionStartInfo(group_name=run.key, start_time_secs=run.started_at_s)
        for name, value in (run.parameters | facts).items():
            field, value = _hparam(value)
            setattr(start.hparams[name], field, value)
        data = HParamsPluginData(session_start_info=start)
        self._add(_hparams(metadata.SESSION_START_INFO_TAG, data), run.started_at_s)

    def write(self, run: TrackedRun) -> None:
        for point in run.points[self._written :]:
            self._add(_scalars(point.metrics), point.at_s, point.step)
        self._written = len(run.points)
        if run.end is not None:
            step = run.points[-1].step if run.points else 0
            self._add(_scalars(run.end.metrics), run.end.at_s, step)
            end = SessionEndInfo(status=_STATUSES[run.end.outcome], end_time_secs=run.end.at_s)
            data = HParamsPluginData(session_end_info=end)
            self._add(_hparams(metadata.SESSION_END_INFO_TAG, data), run.end.at_s)
        self._events.flush()

    def close(self) -> None:
        self._events.close()

    def _add(self, summary: Summary, at_s: float, step: int = 0) -> None:
        self._events.add_event(Event(wall_time=at_s, step=step, summary=summary))


def _scalars(metrics: dict[str, float]) -> Summary:
    return Summary(
        value=[
            Summary.Value(tag=name, simple_value=value if math.isfinite(value) else math.nan)
            for name, value in metrics.items()
        ]
    )


def _hparam(value: ConfigValue) -> tuple[str, bool | float | str]:
    """A value's field in TensorBoard's message, and the value as that field takes it."""
    if isinstance(value, bool):
        return "bool_value", value
    if isinstance(value, int | float):
        return "number_value", value
    return "string_value", str(value)


def _hparams(tag: str, data: HParamsPluginData) -> Summary:
    # What tensorboard.plugins.hparams.summary makes, which needs TensorFlow.
    summary = Summary()
    summary.value.add(
        tag=tag,
        metadata=metadata.create_summary_metadata(data),
        tensor=metadata.NULL_TENSOR,
    )
    return summary


def _remove_events(folder: Path) -> None:
    for path in folder.rglob(EVENT_FILES):
        path.unlink()
