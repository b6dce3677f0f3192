"""This process's global random states, which Ray's schedulers and ``Domain.sample`` draw from."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

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
