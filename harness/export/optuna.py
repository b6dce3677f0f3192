"""An Optuna study per finished cell, as optuna-dashboard and Optuna's own analyses read them.

A trial is COMPLETE where it came to the epochs cap, PRUNED where the scheduler or the budget's end
stopped it, FAIL where it failed or diverged. Its value is the last validation score, with the
configuration of that epoch; where PBT changed configurations on the way, the attribute
``configurations`` has all of them. Scores per epoch are the intermediate values.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy import event
from sqlalchemy.engine import Engine

from harness.contract import UsageError
from harness.contract.records import (
    ConfigValue,
    ParameterRecord,
    Report,
    StudyRecord,
    TrialEnd,
    TrialStatus,
)
from harness.export.tracked import study_identity
from reports.run import Cell, Run

_STATES: dict[TrialStatus, TrialState] = {
    "finished": TrialState.COMPLETE,
    "stopped": TrialState.PRUNED,
    "cut": TrialState.PRUNED,
    "failed": TrialState.FAIL,
    "diverged": TrialState.FAIL,
}
EVENTS_ATTRIBUTE, TRIAL_ATTRIBUTE = "events_sha256", "trial"


def export_optuna(run: Run, url: str) -> str:
    """Write every finished cell of a run into the storage; returns what was written, in words.

    A cell that is there already is left as it is, or completed; one that was run again since is
    written anew.

    Raises:
        UsageError: no cell is finished.
    """
    if not run.cells:
        raise UsageError(f"{run.path} has no finished cell to export")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with _quick_sqlite():
        storage = optuna.storages.get_storage(url)
        for (strategy, seed), cell in run.cells.items():
            name = optuna_study_name(run.study, strategy, seed)
            _write_cell(storage, name, run.study, cell)
    left_out = f" ({len(run.problems)} not finished, left out)" if run.problems else ""
    return f"{len(run.cells)} studies, one per cell{left_out},"


@contextlib.contextmanager
def _quick_sqlite() -> Iterator[None]:
    """Optuna commits several times per trial. Waiting for the disk each time would be most of an
    export's time, and protects only from a power cut: then it can be exported again."""

    def connected(connection: object, _: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", connected)
    try:
        yield
    finally:
        event.remove(Engine, "connect", connected)


def optuna_study_name(study: StudyRecord, strategy: str, seed: int) -> str:
    return f"{study.benchmark.name} {strategy} seed {seed} [{study_identity(study)}]"


def _write_cell(
    storage: optuna.storages.BaseStorage, name: str, study: StudyRecord, cell: Cell
) -> None:
    direction = "maximize" if study.benchmark.mode == "max" else "minimize"
    written = optuna.create_study(
        storage=storage, study_name=name, direction=direction, load_if_exists=True
    )
    events = cell.record.events_sha256
    if written.user_attrs.get(EVENTS_ATTRIBUTE, events) != events:
        optuna.delete_study(study_name=name, storage=storage)
        written = optuna.create_study(storage=storage, study_name=name, direction=direction)
    there = written.user_attrs
    for key, value in _study_attributes(study, cell).items():
        if key not in there:
            written.set_user_attr(key, value)
    have = {trial.user_attrs[TRIAL_ATTRIBUTE] for trial in written.get_trials(deepcopy=False)}
    trials = cell_trials(study, cell)
    written.add_trials([t for t in trials if t.user_attrs[TRIAL_ATTRIBUTE] not in have])


def _study_attributes(study: StudyRecord, cell: Cell) -> dict[str, object]:
    record = cell.record
    best = record.incumbent
    return {
        EVENTS_ATTRIBUTE: record.events_sha256,
        "strategy": record.strategy,
        "seed": record.seed,
        "benchmark": study.benchmark.name,
        "metric": study.benchmark.metric,
        "budget_device_seconds": record.budget_device_seconds,
        "status": f"{record.status}: {record.reason}",
        "incumbent": None
        if best is None
        else best.model_dump(mode="json", include={"trial", "epoch", "validation_score"}),
    }


def cell_trials(study: StudyRecord, cell: Cell) -> list[FrozenTrial]:
    """A cell's trials in the order of their numbers."""
    reports: dict[int, list[Report]] = {}
    for report in cell.reports:
        reports.setdefault(report.trial, []).append(report)
    ends = sorted((end for end in cell.ends if not end.retried), key=lambda end: end.trial)
    return [_trial(study, cell, end, reports.get(end.trial, [])) for end in ends]


def _trial(study: StudyRecord, cell: Cell, end: TrialEnd, reports: Sequence[Report]) -> FrozenTrial:
    benchmark = study.benchmark
    state = _STATES[end.status]
    last = reports[-1].validation_score if reports else math.nan
    if state is TrialState.COMPLETE and not math.isfinite(last):
        state = TrialState.FAIL
    config = reports[-1].config if reports else end.config
    distributions = {
        name: _distribution(parameter, config[name])
        for name, parameter in benchmark.space.items()
        if name in config
    }
    attributes: dict[str, object] = {
        TRIAL_ATTRIBUTE: end.trial,
        "strategy": cell.record.strategy,
        "seed": cell.record.seed,
        "status": end.status,
        "reason": end.reason,
        "told_score": _finite(end.told_score),
        "test_score": _finite(reports[-1].test_score) if reports else None,
        "device_seconds": sum(reports[-1].trial_device_seconds.values()) if reports else None,
        **_best(reports, benchmark.mode == "max"),
        **_changes(reports),
    }
    trial = create_trial(
        state=state,
        value=last if state is not TrialState.FAIL and math.isfinite(last) else None,
        params={name: config[name] for name in distributions},
        distributions=distributions,
        user_attrs={key: value for key, value in attributes.items() if value is not None},
        intermediate_values={report.epoch: report.validation_score for report in reports},
    )
    # Optuna's times are local and without a zone.
    zero = datetime.fromisoformat(study.created_at).astimezone().replace(tzinfo=None)
    trial.datetime_start = zero + timedelta(seconds=reports[0].started_s if reports else end.at_s)
    trial.datetime_complete = zero + timedelta(seconds=end.at_s)
    return trial


def _distribution(parameter: ParameterRecord, value: ConfigValue) -> BaseDistribution:
    """The parameter's own, made wide enough where PBT left the space."""
    if parameter.type == "categorical":
        choices = list(parameter.choices)
        return CategoricalDistribution(choices if value in choices else [*choices, value])
    assert parameter.low is not None and parameter.high is not None
    assert isinstance(value, int | float)
    low, high = min(parameter.low, value), max(parameter.high, value)
    if parameter.type == "integer":
        return IntDistribution(int(low), int(high), log=parameter.log)
    return FloatDistribution(low, high, log=parameter.log)


def _best(reports: Sequence[Report], is_max: bool) -> dict[str, object]:
    finite = [report for report in reports if math.isfinite(report.validation_score)]
    if not finite:
        return {}
    choose = max if is_max else min
    best = choose(finite, key=lambda report: report.validation_score)
    return {"best_score": best.validation_score, "best_epoch": best.epoch}


def _changes(reports: Sequence[Report]) -> dict[str, object]:
    """``configurations``: ``[epoch, configuration, parent]`` from each change on, if any."""
    changes: list[tuple[int, dict[str, ConfigValue], dict[str, int] | None]] = []
    for report in reports:
        if not changes or changes[-1][1] != report.config or report.parent is not None:
            parent = None if report.parent is None else report.parent.model_dump()
            changes.append((report.epoch, report.config, parent))
    return {"configurations": changes} if len(changes) > 1 else {}


def _finite(score: float | None) -> float | None:
    return score if score is not None and math.isfinite(score) else None
