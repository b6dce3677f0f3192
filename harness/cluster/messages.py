"""What the trial actor, the pool and the workers say to each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from harness.contract.benchmark import Config
from harness.contract.records import Kind, Parent
from harness.ledger import Charge
from harness.redaction import redacted
from harness.tuning.results import Failure


@dataclass(frozen=True)
class EpochCommand:
    """Train a trial's epoch ``epoch``. ``start``: begin (or take over) the trial first. ``parent``:
    the trial whose state it takes over. ``repeats``: the epoch is one that was reported before, and
    whose state a killed process took with it.

    ``state_ref``: a list holding one ``ObjectRef`` of checkpoint bytes to load after the start
    (in a list, so that Ray hands over the reference and not the bytes), or empty. ``overhead``:
    what the trial's actor did since the command before (writing or reading checkpoints).
    """

    trial: int
    config: Config
    seed: int
    start: bool
    state_ref: list[Any] = field(default_factory=list)
    overhead: list[Charge] = field(default_factory=list)
    epoch: int = 1
    parent: Parent | None = None
    repeats: bool = False


@dataclass(frozen=True)
class EpochOutcome:
    """What one rank did with a command: metrics and spans, or the error that stopped it.
    ``is_death``: the error is that its group died."""

    metrics: dict[str, float] = field(default_factory=dict)
    spans: list[tuple[Kind, float]] = field(default_factory=list)
    state_ref: list[Any] = field(default_factory=list)
    error: str | None = None
    error_log: str = ""
    is_death: bool = False


@dataclass(frozen=True)
class EpochResult:
    """An epoch as the pool saw it, for the trial actor. Times: seconds since the cell's start."""

    metrics: dict[str, float]
    spans: list[tuple[Kind, float]]
    state_ref: list[Any]
    slot: int
    started_s: float
    reported_s: float
    trial_seconds: dict[Kind, float]
    charges: list[Charge] = field(default_factory=list)
    """What the slot was charged since its result before."""


@dataclass(frozen=True)
class Progress:
    """How far a trial is, whoever trained it: how many epochs it has reported, and the last one's
    number. ``parent``: whose state it took over last, after ``parent_at`` reports. ``deaths``: how
    many actors died under it since its last report."""

    reports: int = 0
    epoch: int = 0
    parent: Parent | None = None
    parent_at: int = 0
    deaths: int = 0

    def after_report(self, epoch: int, parent: Parent | None) -> Progress:
        """``parent``: whose state was taken over for it."""
        after = replace(self, reports=self.reports + 1, epoch=epoch, deaths=0)
        return after if parent is None else replace(after, parent=parent, parent_at=self.reports)


class CellOverError(Exception):
    """The budget was cut while the command was under way."""


class EpochError(Exception):
    """A session raised, or its worker group died or did not start."""

    def __init__(
        self, reason: str, log: str = "", at_s: float = 0.0, is_death: bool = False
    ) -> None:
        super().__init__(redacted(reason), redacted(log), at_s, is_death)
        self.failure = Failure(reason, log or reason, at_s, is_death)
