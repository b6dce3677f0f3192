"""This process's global random states, which Ray's schedulers and ``Domain.sample`` draw from."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from unittest import mock

import numpy as np


def seed_globals(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def unchanged_globals() -> Iterator[None]:
    """Whatever is drawn meanwhile, the states are afterwards as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextlib.contextmanager
def own_shuffling() -> Iterator[None]:
    """Ray's actor manager shuffles what is ready, as often as it happens to look: not from the
    state that schedulers draw from, or no cell could be told its past again."""
    from ray.air.execution._internal import actor_manager, event_manager

    with (
        mock.patch.object(actor_manager, "random", random.Random(0)),
        mock.patch.object(event_manager, "random", random.Random(0)),
    ):
        yield
