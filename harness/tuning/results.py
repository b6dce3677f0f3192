"""The parts of a Tune result that are the recorder's alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.contract import Config
from harness.contract.records import Kind, Parent
from harness.ledger import Charge
from harness.redaction import redacted

EXTRA = "_harness"
"""Key in a result: what searchers and schedulers must not see. An :class:`EpochExtra`, or for a
failed trial its :class:`Failure` s. (Not a dict: Tune would flatten it.)"""

CUT = "_harness_cut"
"""Key in a result: the cell ended while this epoch was under way; it counts for nothing."""

FAILED = "_harness_failed"
"""Key in a result: the trial failed for good; the metric beside it is NaN."""

MAX_RETRIES = 1
"""How often a trial's failed epoch is tried again, from the epoch before."""

MAX_DEATHS = 3
"""How often in a row, without an epoch in between, processes may die under a trial before it is
taken to be the one that kills them."""


@dataclass(frozen=True)
class Failure:
    """Why a trial's attempt failed: one line, the worker's log if it has more, and when.
    ``is_death``: a process was killed or crashed, for which the trial need not be to blame."""

    reason: str
    log: str
    at_s: float
    is_death: bool = False

    def __post_init__(self) -> None:
        # An exception of a benchmark's may quote a URL that it read from.
        object.__setattr__(self, "reason", redacted(self.reason))
        object.__setattr__(self, "log", redacted(self.log))


ScoresAhead = Callable[[], Sequence[float] | None]
"""Gives what a trial would report of its further epochs, up to the cap or to the first score that
is not finite; ``None``: its session failed."""


class EpochExtra(NamedTuple):
    """What an executor reports of an epoch besides the score, for the recorder.

    ``config``: what was trained, which an exploit decided on this report may change before it is
    written. ``metrics``: all, test score included. Times are seconds since the cell's start;
    ``spans`` and ``trial_seconds`` are seconds of the slot. ``state``: the weights, in the
    executor's own form. ``failures``: attempts at this epoch before. ``scores_ahead``: to be asked
    at once where the trial is stopped here; ``None`` where they cannot be known. ``charges``: what
    the slot was charged since its report before.
    """

    config: Config
    metrics: Mapping[str, float]
    spans: list[tuple[Kind, float]]
    slot: int
    started_s: float
    reported_s: float
    trial_seconds: Mapping[Kind, float]
    state: Any
    parent: Parent | None
    failures: list[Failure]
    scores_ahead: ScoresAhead | None = None
    charges: Sequence[Charge] = ()


def missing_metric(metric: str, metrics: Mapping[str, float]) -> str | None:
    """Why an epoch's metrics are a failure, if they lack the benchmark's own."""
    if metric in metrics:
        return None
    reported = ", ".join(sorted(metrics)) or "nothing"
    return f"the benchmark reported no {metric!r}; it reported {reported}"


def without_extras(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as searchers and schedulers may see it: above all, no test score."""
    clean = dict(result)
    clean.pop(EXTRA, None)
    return clean
