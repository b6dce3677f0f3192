"""Tune's names for a cell's trials: their numbers in the order in which they were made."""

from __future__ import annotations

import contextlib
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
    """As :func:`trial_ids`, of a searcher that makes ids itself (``BasicVariantGenerator``
    begins them with something random)."""
    if hasattr(searcher, "_uuid_prefix"):
        searcher._uuid_prefix = ""


@contextlib.contextmanager
def trial_ids(next_id: Callable[[], str]) -> Iterator[None]:
    """Tune's ids of trials made meanwhile are not random: the same cell, the same ids."""
    from ray.tune.experiment import Trial

    with mock.patch.object(Trial, "generate_id", staticmethod(next_id)):
        yield


def trial_namer(names: dict[str, str]) -> Callable[[Any], str]:
    """Tune's creator of trial and folder names: asked twice, it says the same.

    A function, because Tune makes a deep copy of the experiment for every trial.

    Args:
        names: is filled, by trial id.
    """

    def name_of(trial: Any) -> str:
        return names.setdefault(trial.trial_id, trial_name(len(names)))

    return name_of
