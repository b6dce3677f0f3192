"""What trackers are told: a study, its cells and its trials as one tree of runs, as plain data.

Pure: from the records of a run folder to :class:`TrackedRun`. What a tracker makes of them is in
its own module.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from harness.contract.records import (
    CellRecord,
    ConfigValue,
    Report,
    StrategyRecord,
    StudyRecord,
    TrialEnd,
    TrialStatus,
)
from reports.store import cell_slug

Outcome = Literal["finished", "failed", "killed"]

_OUTCOMES: dict[TrialStatus, Outcome] = {
    "finished": "finished",
    "stopped": "finished",
    "failed": "failed",
    "diverged": "failed",
    "cut": "killed",
}

INTERRUPTED = "interrupted"
"""The status of what was running when a run ended without saying how: it may go on."""


@dataclass(frozen=True)
class Point:
    """Metrics of one report. ``at_s``: seconds since the epoch (1970)."""

    step: int
    at_s: float
    metrics: dict[str, float]


@dataclass(frozen=True)
class RunEnd:
    """``status`` is the project's own word, ``outcome`` what every tracker has a word for."""

    status: str
    outcome: Outcome
    reason: str | None
    at_s: float
    metrics: dict[str, float]


@dataclass
class TrackedRun:
    """One run of a tracker. ``key`` is the same however often, and from wherever, it is pushed.

    ``points`` only grow; ``end`` is set last. ``files`` are kept with the run.
    """

    key: str
    parent: TrackedRun | None
    name: str
    tags: dict[str, str]
    parameters: dict[str, ConfigValue]
    started_at_s: float
    points: list[Point] = field(default_factory=list)
    end: RunEnd | None = None
    files: list[Path] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """``study``, ``cell`` or ``trial``."""
        return self.tags["kind"]

    @property
    def is_done(self) -> bool:
        """Whether nothing can follow."""
        return self.end is not None and self.end.status != INTERRUPTED

    def interrupt(self) -> None:
        """End a run that nothing more is known of for now."""
        if self.end is None:
            last_s = self.points[-1].at_s if self.points else self.started_at_s
            self.end = RunEnd(INTERRUPTED, "killed", "the study has not ended", last_s, {})


def study_identity(study: StudyRecord) -> str:
    """Twelve hex digits that stay when the run folder moves and when the study is gone on with."""
    facts: list[Any] = [
        study.created_at,
        study.machine.get("hostname"),
        study.executor,
        study.benchmark.name,
        sorted(study.benchmark.options.items()),
        [strategy.name for strategy in study.strategies],
        study.seeds,
        study.budget_device_seconds,
        study.devices.held,
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


def track_study(study: StudyRecord, name: str) -> TrackedRun:
    """The root: the study, named as its run folder is."""
    identity = study_identity(study)
    devices = study.devices
    return TrackedRun(
        key=identity,
        parent=None,
        name=name,
        tags={
            "kind": "study",
            "study": name,
            "study_id": identity,
            "benchmark": study.benchmark.name,
            "executor": study.executor,
        },
        parameters={
            **study.benchmark.options,
            "strategies": ",".join(strategy.name for strategy in study.strategies),
            "seeds": ",".join(map(str, study.seeds)),
            "budget_device_seconds": study.budget_device_seconds,
            "slots": devices.slots,
            "workers_per_trial": devices.workers_per_trial,
            "devices_per_worker": devices.devices_per_worker,
            "device": f"{devices.kind} {devices.model}",
            "data_seed": study.benchmark.data_seed,
            **{f"version/{package}": version for package, version in study.versions.items()},
        },
        started_at_s=datetime.fromisoformat(study.created_at).timestamp(),
    )


class TrackedCell:
    """A cell and its trials, grown event by event.

    Args:
        root: as from :func:`track_study`.
        first_event: the first line of the cell's events. A cell that was begun anew has another
            one, and none of its trials is one of the earlier try's.
    """

    def __init__(
        self,
        study: StudyRecord,
        root: TrackedRun,
        strategy: StrategyRecord,
        seed: int,
        first_event: bytes,
    ) -> None:
        self._benchmark = study.benchmark
        self._changing = {
            name
            for name, parameter in study.benchmark.space.items()
            if strategy.changes_config and parameter.mutable
        }
        self._started_at_s = root.started_at_s
        self._trials: dict[int, TrackedRun] = {}
        """Those under way: a long cell has too many to keep."""
        self._best: dict[int, tuple[float, int]] = {}
        slug = cell_slug(strategy.name, seed)
        self.run = TrackedRun(
            key=f"{root.key}/{slug}/{hashlib.sha256(first_event).hexdigest()[:8]}",
            parent=root,
            name=f"{strategy.name} seed {seed}",
            tags=root.tags
            | {
                "kind": "cell",
                "cell": slug,
                "strategy": strategy.name,
                "searcher": strategy.searcher,
                "scheduler": strategy.scheduler,
                "seed": str(seed),
            },
            parameters={"strategy": strategy.name, "seed": seed},
            started_at_s=self._started_at_s,
        )

    def add(self, event: Report | TrialEnd) -> TrackedRun:
        """Take the next event in; returns the trial that it is of."""
        trial = self._trials.get(event.trial) or self._begin(event)
        if isinstance(event, Report):
            trial.points.append(self._point(event))
            self._note_best(event)
        elif not event.retried:
            trial.end = self._end(event)
            del self._trials[event.trial]
        return trial

    def finish(self, record: CellRecord) -> None:
        """End the cell itself."""
        best = record.incumbent
        self.run.parameters |= {
            f"settings/{name}": value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in record.settings.items()
        }
        metrics = {
            "device_seconds": record.held_device_seconds,
            "setup_seconds": record.setup_seconds,
            "wall_seconds": record.wall_seconds,
            **{f"trials/{status}": float(count) for status, count in record.trials.items()},
        }
        if best is not None:
            metrics |= self._scores(best.validation_score, best.test_score)
            metrics |= {"incumbent/trial": float(best.trial), "incumbent/epoch": float(best.epoch)}
        is_completed = record.status == "completed"
        seconds = record.held_device_seconds / record.devices if record.devices else 0.0
        self.run.end = RunEnd(
            record.status,
            "finished" if is_completed else "failed",
            record.reason,
            self._started_at_s + seconds,
            metrics,
        )

    def under_way(self) -> Iterator[TrackedRun]:
        """Trials that have not ended."""
        return iter(self._trials.values())

    def _begin(self, event: Report | TrialEnd) -> TrackedRun:
        started_s = event.started_s if isinstance(event, Report) else event.at_s
        trial = TrackedRun(
            key=f"{self.run.key}/{event.trial}",
            parent=self.run,
            name=f"{self.run.name} trial {event.trial}",
            tags=self.run.tags | {"kind": "trial", "trial": str(event.trial)},
            parameters=dict(event.config),
            started_at_s=self._started_at_s + started_s,
        )
        self._trials[event.trial] = trial
        return trial

    def _point(self, report: Report) -> Point:
        metrics = self._scores(report.validation_score, report.test_score)
        for name in ("validation_loss", "train_loss"):
            if (value := getattr(report, name)) is not None:
                metrics[name] = value
        metrics["device_seconds"] = sum(report.trial_device_seconds.values())
        metrics |= {
            f"config/{name}": float(value)
            for name, value in report.config.items()
            if name in self._changing and isinstance(value, int | float)
        }
        return Point(report.epoch, self._started_at_s + report.reported_s, metrics)

    def _scores(self, validation: float, test: float | None) -> dict[str, float]:
        scores = {self._benchmark.metric: validation}
        if test is not None:
            scores[self._benchmark.test_metric or "test_score"] = test
        return scores

    def _note_best(self, report: Report) -> None:
        score, sign = report.validation_score, 1 if self._benchmark.mode == "max" else -1
        best = self._best.get(report.trial)
        if math.isfinite(score) and (best is None or sign * score > sign * best[0]):
            self._best[report.trial] = score, report.epoch

    def _end(self, end: TrialEnd) -> RunEnd:
        metrics = {}
        if (best := self._best.pop(end.trial, None)) is not None:
            metrics = {f"best/{self._benchmark.metric}": best[0], "best/epoch": float(best[1])}
        if end.told_score is not None:
            metrics["told_score"] = end.told_score
        return RunEnd(
            end.status,
            _OUTCOMES[end.status],
            end.reason,
            self._started_at_s + end.at_s,
            metrics,
        )
