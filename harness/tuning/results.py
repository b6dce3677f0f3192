"""The parts of a Tune result that are the recorder's alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EXTRA = "_harness"
"""Key in a result: test score, times and the state's reference travel below it."""

CUT = "_harness_cut"
"""Key in a result: the cell ended while this epoch was under way; it counts for nothing."""


def without_extras(result: Mapping[str, Any]) -> dict[str, Any]:
    """A (flattened) result as searchers and schedulers may see it: above all, no test score."""
    return {k: v for k, v in result.items() if k != EXTRA and not k.startswith(f"{EXTRA}/")}


FAILED = "_harness_failed"
"""Key in a result: the trial failed for good; the metric beside it is NaN."""


@dataclass(frozen=True)
class Failure:
    """Why a trial's attempt failed: one line, the worker's log if it has more, and when."""

    reason: str
    log: str
    at_s: float
