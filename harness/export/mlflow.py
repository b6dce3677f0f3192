"""MLflow: a run per study, cell and trial, nested by ``mlflow.parentRunId``.

They lie in the experiment that ``MLFLOW_EXPERIMENT_NAME`` names, or else the benchmark's. What the
server has already is found by the tag ``harness.key``, so that a push can be repeated.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

QUIET_AND_QUICK = {
    # A server that is down is tried again by whoever pushes, not for minutes inside each call.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
for _name, _value in QUIET_AND_QUICK.items():
    os.environ.setdefault(_name, _value)

# After the settings above: MLflow reads some of them as it is loaded.
from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import Metric, Param, Run, RunStatus, RunTag  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402

from harness.export.tracked import INTERRUPTED, Outcome, Point, TrackedRun  # noqa: E402

KEY, STATUS, REASON = "harness.key", "status", "reason"
_STATUSES: dict[Outcome, str] = {"finished": "FINISHED", "failed": "FAILED", "killed": "KILLED"}

_METRICS_PER_CALL, _PARAMS_PER_CALL = 1000, 100
_PAGE = 1000
_LONGEST_TAG, _LONGEST_PARAM = 5000, 6000


@dataclass
class _Remote:
    """What the server has of a run. ``points``: ``None`` where it has not been asked yet."""

    run_id: str
    points: int | None
    has_parameters: bool
    is_open: bool
    is_done: bool


class MLflowSink:
    """A :class:`harness.export.sink.Sink`.

    Args:
        uri: of the tracking server, or MLflow's own default (``MLFLOW_TRACKING_URI``, …).
    """

    def __init__(self, uri: str | None, root: TrackedRun) -> None:
        self._client = MlflowClient(tracking_uri=uri)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or root.tags["benchmark"]
        self._experiment = self._find_experiment(name)
        self._remote = {
            run.data.tags[KEY]: _remote(run) for run in self._search(root.tags["study_id"])
        }

    def push(self, run: TrackedRun) -> None:
        remote = self._remote.get(run.key)
        if remote is None:
            remote = self._remote[run.key] = self._create(run)
        for path in run.files:
            self._client.log_artifact(remote.run_id, str(path))
        if remote.is_done:
            return
        if not remote.is_open:
            self._client.update_run(remote.run_id, status="RUNNING")
            remote.is_open = True
        self._log(run, remote)
        if run.end is not None:
            status = _STATUSES[run.end.outcome]
            self._client.set_terminated(remote.run_id, status, _ms(run.end.at_s))
            remote.is_open, remote.is_done = False, run.is_done

    def close(self) -> None:
        """Every call has waited for its answer."""

    def _find_experiment(self, name: str) -> str:
        if (found := self._client.get_experiment_by_name(name)) is not None:
            return str(found.experiment_id)
        try:
            return str(self._client.create_experiment(name))
        except MlflowException:
            # Somebody else was quicker.
            if (found := self._client.get_experiment_by_name(name)) is None:
                raise
            return str(found.experiment_id)

    def _search(self, study_id: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self._client.search_runs(
                [self._experiment],
                f"tags.study_id = '{study_id}'",
                max_results=_PAGE,
                page_token=token,
            )
            runs += [run for run in page if KEY in run.data.tags]
            if not (token := page.token):
                return runs

    def _create(self, run: TrackedRun) -> _Remote:
        tags = run.tags | {KEY: run.key}
        if run.parent is not None:
            tags["mlflow.parentRunId"] = self._remote[run.parent.key].run_id
        made = self._client.create_run(
            self._experiment, start_time=_ms(run.started_at_s), tags=tags, run_name=run.name
        )
        return _Remote(made.info.run_id, 0, has_parameters=False, is_open=True, is_done=False)

    def _log(self, run: TrackedRun, remote: _Remote) -> None:
        """Send the points that the server lacks; with the last of them, what is said at the end."""
        if remote.points is None:
            remote.points = self._count_points(run, remote)
        batches = _batches(run.points[remote.points :])
        tags: list[RunTag] = []
        if run.end is not None:
            at, step = _ms(run.end.at_s), run.points[-1].step if run.points else 0
            batches.append([Metric(_name_for(k), v, at, step) for k, v in run.end.metrics.items()])
            tags = [RunTag(STATUS, run.end.status), RunTag(REASON, _cut(run.end.reason or "–"))]
        params: list[Param] = []
        # A cell's parameters are complete at its end.
        if not remote.has_parameters and (run.kind != "cell" or run.is_done):
            params = [
                Param(_name_for(name), _cut(str(value), _LONGEST_PARAM))
                for name, value in run.parameters.items()
            ]
        for start in range(_PARAMS_PER_CALL, len(params), _PARAMS_PER_CALL):
            self._client.log_batch(remote.run_id, params=params[start : start + _PARAMS_PER_CALL])
        some = params[:_PARAMS_PER_CALL]
        for number, batch in enumerate(batches or [[]], start=1):
            last_tags = tags if number == len(batches) else []
            self._client.log_batch(remote.run_id, metrics=batch, params=some, tags=last_tags)
            some = []
        remote.has_parameters = remote.has_parameters or bool(params)
        remote.points = len(run.points)

    def _count_points(self, run: TrackedRun, remote: _Remote) -> int:
        if not run.points:
            return 0
        # Every point of a trial has it, and one call sends all of a point or nothing.
        return len(self._client.get_metric_history(remote.run_id, "device_seconds"))


def _remote(run: Run) -> _Remote:
    has_ended = RunStatus.is_terminated(RunStatus.from_string(run.info.status))
    status = run.data.tags.get(STATUS, INTERRUPTED)
    return _Remote(
        run.info.run_id,
        points=None,
        has_parameters=False,  # perhaps some of them: sent again, which changes nothing
        is_open=not has_ended,
        is_done=has_ended and status != INTERRUPTED,
    )


def _batches(points: list[Point]) -> list[list[Metric]]:
    """The points' metrics, a point's always in one call."""
    if not points:
        return []
    per_call = max(_METRICS_PER_CALL // max(len(point.metrics) for point in points), 1)
    return [
        [
            Metric(_name_for(name), value, _ms(point.at_s), point.step)
            for point in points[start : start + per_call]
            for name, value in point.metrics.items()
        ]
        for start in range(0, len(points), per_call)
    ]


def _name_for(name: str) -> str:
    """A name that MLflow takes, and that no other one becomes."""
    return re.sub(r"[^\w\-. :/]", lambda match: f"_x{ord(match[0]):x}", name)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _cut(text: str, longest: int = _LONGEST_TAG) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
