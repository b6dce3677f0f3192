"""Ray's own usage statistics of a cell, less one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock


@contextlib.contextmanager
def callbacks_uncounted() -> Iterator[None]:
    """Tune imports MLflow and W&B, where they are installed, to count which of a run's callbacks
    are theirs: seconds of a core and over a hundred megabytes for each cell, which has none."""
    from ray.air._internal import usage

    with mock.patch.object(usage, "tag_callbacks"):
        yield
