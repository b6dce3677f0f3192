"""The part of a Tune result that is the recorder's alone."""

from __future__ import annotations

from typing import Any

EXTRA = "_harness"
"""Key in a result: test score, times and the state's reference travel below it."""


def without_extras(result: dict[str, Any]) -> dict[str, Any]:
    """A (flattened) result as searchers and schedulers may see it: above all, no test score."""
    return {k: v for k, v in result.items() if k != EXTRA and not k.startswith(f"{EXTRA}/")}
