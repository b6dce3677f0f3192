"""What the trial actor, the pool and the workers say to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.contract.benchmark import Config
from harness.contract.records import Kind
from harness.ledger import Charge
from harness.redaction import redact
from harness.tuning.results import Failure


@dataclass(frozen=True)
class EpochCommand:
    """Train one epoch of a trial. ``start``: begin (or take over) the trial first.

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


@dataclass(frozen=True)
class EpochOutcome:
    """What one rank did with a command: metrics and spans, or the error that stopped it."""

    metrics: dict[str, float] = field(default_factory=dict)
    spans: list[tuple[Kind, float]] = field(default_factory=list)
    state_ref: list[Any] = field(default_factory=list)
    error: str | None = None
    error_log: str = ""


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


class CellOverError(Exception):
    """The budget was cut while the command was under way."""


class EpochError(Exception):
    """A session raised, or its worker group died or did not start."""

    def __init__(self, reason: str, log: str = "", at_s: float = 0.0) -> None:
        super().__init__(redact(reason), redact(log), at_s)
        self.failure = Failure(reason, log or reason, at_s)
