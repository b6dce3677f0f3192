"""Tune's names for a cell's trials: their numbers in the order in which they were made."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


def trial_name(number: int) -> str:
    """Tune's name for the ``number``-th trial of a cell."""
    return f"trial-{number:05d}"


def trial_number(name: str) -> int:
    """The inverse of :func:`trial_name`."""
    return int(name.rsplit("-", 1)[1])


def trial_namer() -> Callable[[Any], str]:
    """Tune's creator of trial and folder names: asked twice, it says the same.

    A function, because Tune makes a deep copy of the experiment for every trial.
    """
    numbers = itertools.count()
    names: dict[str, str] = {}

    def name_of(trial: Any) -> str:
        if trial.trial_id not in names:
            names[trial.trial_id] = trial_name(next(numbers))
        return names[trial.trial_id]

    return name_of
