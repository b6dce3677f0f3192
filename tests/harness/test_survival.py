"""A study whose processes are killed, and the same command again. (Of one on the virtual clock:
``test_virtual_run.py``.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.perf.soak.__main__ import command, soak


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_nothing_is_lost_that_was_reported_before_a_kill(tmp_path: Path) -> None:
    """The short version of the script, which has more of everything. With this seed the first kill
    comes while trials are at work; what that costs is a matter of the moment."""
    out = tmp_path / "soak"
    run = command(out, strategies="pbt", seeds=1, budget_hours=0.008)
    found = soak(out, run, kills=2, seed=4, max_s=570)
    assert found.problems == []
    assert found.cells == 1 and found.reports > 15
    assert sum(found.killed.values()) > 0
