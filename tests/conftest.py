"""For the whole suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts a cluster comes last, so that a quick test's failure is seen at once."""
    items.sort(key=lambda item: item.get_closest_marker("cluster") is not None)
