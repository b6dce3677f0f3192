"""For the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts a cluster comes last, so that a quick test's failure is seen at once; of two
    processes (``-n 2``) one begins with it, and the other has the quick ones."""
    are_two = "PYTEST_XDIST_WORKER" in os.environ
    items.sort(key=lambda item: _starts_a_cluster(item) is not are_two)
    for item in items:
        group = "cluster" if _starts_a_cluster(item) else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


def _starts_a_cluster(item: pytest.Item) -> bool:
    return item.get_closest_marker("cluster") is not None
