"""For the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from benchmarks.registry import BENCHMARKS
from strategies.registry import STRATEGIES

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(autouse=True, scope="module")
def files_of_a_module() -> Iterator[None]:
    """What a module's tests add to the registries is not there for the next one, which the same
    process runs or not, as it comes."""
    benchmarks, strategies = list(BENCHMARKS._from_files), list(STRATEGIES._from_files)
    yield
    BENCHMARKS._from_files, STRATEGIES._from_files = benchmarks, strategies


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts a cluster comes last, so that a quick test's failure is seen at once."""
    items.sort(key=lambda item: item.get_closest_marker("cluster") is not None)
