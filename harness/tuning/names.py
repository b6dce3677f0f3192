"""Tune's names for a cell's trials: their numbers in the order in which they were made."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock


def trial_name(number: int) -> str:
    """Tune's name for the ``number``-th trial of a cell."""
    return f"trial-{number:05d}"


def trial_number(name: str) -> int:
    """The inverse of :func:`trial_name`."""
    return int(name.rsplit("-", 1)[1])


def count_ids_of(searcher: Any) -> None:
    """As :func:`counted_trial_ids`, of a searcher that makes ids itself (``BasicVariantGenerator``
    begins them with something random)."""
    if hasattr(searcher, "_uuid_prefix"):
        searcher._uuid_prefix = ""


@contextlib.contextmanager
def counted_trial_ids() -> Iterator[None]:
    """Tune's ids of trials made meanwhile are counted, not random: the same cell, the same ids."""
    from ray.tune.experiment import Trial

    numbers = itertools.count()
    with mock.patch.object(Trial, "generate_id", staticmethod(lambda: f"{next(numbers):08d}")):
        yield


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
