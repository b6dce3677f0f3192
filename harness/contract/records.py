"""The run store's format: one pydantic model per line or file that a run folder holds.

Nothing here is a pickle; NaN and ±inf are written as the strings "NaN", "Infinity" and
"-Infinity" (JSON has no such numbers) and come back as floats.

``runs/NAME/study.json`` (:class:`StudyRecord`), ``cells/STRATEGY--seed-N/events.jsonl``
(:class:`Report` and :class:`TrialEnd` lines), ``cells/…/cell.json`` (:class:`CellRecord`, written
last: a cell without a valid one is not finished), ``cells/…/retrained.json``
(:class:`RetrainRecord`), ``summary.json`` (:class:`Summary`),
``results.parquet`` (every report of every cell, flattened).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    TypeAdapter,
    field_validator,
)

from harness.contract.benchmark import DeviceKind, Mode

FORMAT_VERSION: Final = 1

Kind = Literal["setup", "train", "evaluate", "checkpoint", "restore", "idle", "lost"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Where a device-second went. ``setup`` is billed only where a trial broke its worker group;
``restore`` holds resets to a new trial as well; ``lost`` is work that a killed process took with
it, and its repetition."""

Decision = Literal["continue", "pause", "stop", "finish", "exploit", "diverged"]
"""What followed a report: ``finish`` = the epochs cap; ``stop`` = stopped by the scheduler."""

TrialStatus = Literal["stopped", "finished", "failed", "diverged", "cut"]
"""``cut``: in flight, or paused, when the cell ended."""

CellStatus = Literal["completed", "failed"]

ConfigValue = bool | int | float | str | None

# A run folder may come from anybody: within these bounds no sum, no product and no loop over a
# number gets out of hand.
Count = Annotated[int, Field(ge=0, le=10**12)]
Slots = Annotated[int, Field(ge=0, le=10_000)]
Epochs = Annotated[int, Field(ge=0, le=10**9)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Seconds = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
"""30,000 years; below zero only by rounding."""
Devices = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Bound = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(max_length=1000)]
MAX_STRATEGIES, MAX_SEEDS, MAX_TARGETS, MAX_PARAMETERS, MAX_CHOICES = 200, 10_000, 50, 500, 10_000


def _distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError("the same one twice")
    return values


class Record(BaseModel):
    """Strict about unknown fields, at home with NaN and ±inf."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="strings", frozen=True)


class Parent(Record):
    """The checkpoint that a report's weights descend from, where it is another trial's."""

    trial: Count
    epoch: Epochs


class Span(Record):
    """A stretch of a slot's time, in seconds of wall-clock, spent on one kind of work."""

    kind: Kind
    seconds: Seconds


class Report(Record):
    """One epoch of one trial. Times are seconds since the cell's start (0 = worker groups ready).

    ``spans`` are the pieces from ``started_s`` on, in order; ``trial_device_seconds`` and
    ``held_device_seconds`` are sums so far, of this trial and of the whole cell.
    """

    type: Literal["report"] = "report"
    trial: Count
    tune_id: str
    attempt: Count = 0
    slot: Slots
    config: dict[str, ConfigValue]
    epoch: Epochs
    validation_score: float
    validation_loss: float | None = None
    train_loss: float | None = None
    test_score: float | None = None
    started_s: Seconds
    reported_s: Seconds
    spans: list[Span] = []
    trial_device_seconds: dict[Kind, Seconds]
    held_device_seconds: Seconds
    decision: Decision
    rung: Epochs | None = None
    parent: Parent | None = None
    is_incumbent: bool = False
    """Whether it was the cell's best when it came; should its trial fail, it counts no more."""


class Unstopped(Record):
    """What a stopped trial would have reported on its way to the epochs cap: validation scores (NaN
    where it would have diverged at once, or at the cap)."""

    best: float
    last: float


class TrialEnd(Record):
    """How a trial ended: one line per trial, and one per failed attempt (``retried``)."""

    type: Literal["end"] = "end"
    trial: Count
    attempt: Count = 0
    config: dict[str, ConfigValue]
    epoch: Epochs
    status: TrialStatus
    retried: bool = False
    reason: str | None = None
    at_s: Seconds
    told_score: float | None = None
    """The score the searcher was told for this trial (a failure's is the worst finite one)."""
    unstopped: Unstopped | None = None
    """Of a stopped trial, where what it would have come to can be known."""


EventLine = TypeAdapter[Report | TrialEnd](
    Annotated[Report | TrialEnd, Field(discriminator="type")]
)


class LedgerRow(Record):
    """Device-seconds of one kind, charged to one trial (``None``: to no trial)."""

    trial: Count | None
    kind: Kind
    device_seconds: Seconds


class InFlight(Record):
    """Work under way at the cut: charged, counted for nobody."""

    trial: Count
    epoch: Epochs
    device_seconds: Seconds


class Incumbent(Record):
    """The best configuration by validation score, and when it became known."""

    trial: Count
    epoch: Epochs
    config: dict[str, ConfigValue]
    validation_score: float
    test_score: float | None
    reported_s: Seconds
    held_device_seconds: Seconds


class CellRecord(Record):
    """The end of a cell. ``reason`` says why, in one line (also for a completed cell)."""

    format_version: Literal[1] = FORMAT_VERSION
    strategy: Name
    seed: Seed
    status: CellStatus
    reason: str
    max_epochs: Epochs
    rungs: Annotated[list[Epochs], Field(max_length=1000)] = []
    settings: dict[str, Any] = {}
    warnings: list[str] = []
    slots: Slots
    devices: Seconds
    budget_device_seconds: Seconds
    held_device_seconds: Seconds
    setup_seconds: Seconds
    wall_seconds: Seconds
    searcher_seconds: Seconds
    ledger: list[LedgerRow]
    in_flight: list[InFlight] = []
    incumbent: Incumbent | None
    trials: dict[TrialStatus, Count]
    events: Count
    events_sha256: str


class ParameterRecord(Record):
    """One search-space dimension as plain data."""

    type: Literal["float", "integer", "categorical"]
    low: Bound | None = None
    high: Bound | None = None
    log: bool = False
    choices: Annotated[list[ConfigValue], Field(max_length=MAX_CHOICES)] = []
    mutable: bool = False


class BenchmarkRecord(Record):
    name: Name
    options: dict[str, ConfigValue]
    metric: Name
    mode: Mode
    test_metric: Name | None
    max_epochs: Epochs
    space: Annotated[dict[Name, ParameterRecord], Field(max_length=MAX_PARAMETERS)]
    dataset_source: str
    dataset_sha256: str
    data_seed: Seed
    caveats: list[str] = []
    targets: Annotated[list[FiniteFloat], Field(max_length=MAX_TARGETS)] = []
    """Validation scores that are worth reaching, easiest first, fixed before anything ran."""


class StrategyRecord(Record):
    name: Name
    summary: str
    searcher: str
    scheduler: str
    stops_early: bool
    changes_config: bool
    source: str


class DevicesRecord(Record):
    """What every cell holds: ``slots`` × ``workers_per_trial`` × ``devices_per_worker`` devices."""

    kind: DeviceKind
    model: str
    slots: Slots
    workers_per_trial: Slots
    devices_per_worker: Devices

    @property
    def per_slot(self) -> float:
        return self.workers_per_trial * self.devices_per_worker

    @property
    def held(self) -> float:
        return self.slots * self.workers_per_trial * self.devices_per_worker


class StudyRecord(Record):
    """Everything needed to run the study again and to read its cells."""

    format_version: Literal[1] = FORMAT_VERSION
    study: dict[str, Any]
    benchmark: BenchmarkRecord
    strategies: Annotated[list[StrategyRecord], Field(max_length=MAX_STRATEGIES)]
    left_out: dict[str, str] = {}
    """Strategies that were asked for by ``all`` and cannot run here, with the reason."""
    seeds: Annotated[list[Seed], Field(max_length=MAX_SEEDS), AfterValidator(_distinct)]
    executor: Literal["cluster", "virtual"]
    is_deterministic: bool = False
    """Whether the same study gives the same results again."""
    costs: dict[str, float | int | str] | None = None
    """What a virtual executor charges for what it does not run."""
    devices: DevicesRecord
    budget_device_seconds: Seconds
    versions: dict[str, str]
    git_commit: str | None
    git_dirty: bool | None
    machine: dict[str, ConfigValue]
    created_at: str
    command: str
    goal: str | None = None
    decisions: list[str] = []
    """Lines of the journal: why the study was made, and what followed from it."""

    @field_validator("strategies")
    @classmethod
    def _have_names_of_their_own(cls, strategies: list[StrategyRecord]) -> list[StrategyRecord]:
        _distinct([strategy.name for strategy in strategies])
        return strategies


class Retraining(Record):
    """An incumbent's configurations trained again from the start, with a seed that no cell had.

    ``reason``: why there are no scores.
    """

    seed: Seed
    validation_score: float | None
    test_score: float | None
    reason: str | None = None


class RetrainRecord(Record):
    """``cells/…/retrained.json``: outside the budget. ``trial``, ``epoch``: the incumbent's."""

    format_version: Literal[1] = FORMAT_VERSION
    trial: Count
    epoch: Epochs
    retrainings: list[Retraining]


class CellSummary(Record):
    """One row of ``summary.json``; see ``reports.analysis`` for how each number is made."""

    status: CellStatus | Literal["missing"]
    reason: str
    trials: int
    failed_trials: int
    diverged_trials: int
    epochs_run: int
    epochs_full: int
    epoch_savings: float
    best_validation: float | None
    test_of_incumbent: float | None
    device_seconds_held: float
    device_seconds_by_kind: dict[Kind, float]
    useful_share: float | None
    setup_seconds: float
    wall_seconds: float


class Summary(Record):
    format_version: Literal[1] = FORMAT_VERSION
    benchmark: str
    metric: str
    mode: Mode
    budget_device_seconds: float
    device_kind: DeviceKind
    strategies: dict[str, dict[str, CellSummary]]
    """strategy → seed (as a string, for JSON) → the cell's numbers"""
