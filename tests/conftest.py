"""For the whole suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What starts a cluster comes last, so that a quick test's failure is seen at once; but first
    where files are dealt to several processes, so that none is left alone with it at the end."""
    is_dealt = hasattr(config, "workerinput")
    items.sort(key=lambda item: (item.get_closest_marker("cluster") is not None) != is_dealt)
