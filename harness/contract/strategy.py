"""What a strategy gives to the harness: a searcher + scheduler pair for a given problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.contract.benchmark import Mode

if TYPE_CHECKING:
    from ray.tune.schedulers import TrialScheduler
    from ray.tune.search import SearchAlgorithm, Searcher
    from ray.tune.search.sample import Domain


@dataclass(frozen=True, kw_only=True)
class Problem:
    """All that a strategy may know when it is built.

    ``slots``: trials that can run at once. ``budget_epochs``: about how many epochs of one trial
    the whole budget pays for. ``seed``: the searcher's seed.
    """

    space: Mapping[str, Domain]
    mutable: frozenset[str]
    metric: str
    mode: Mode
    max_epochs: int
    slots: int
    budget_epochs: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A strategy built for a problem, ready for ``tune.TuneConfig``.

    ``rungs``: the epochs at which the scheduler compares trials, ascending. ``settings``: what
    was derived, as plain data for the record. ``keep_checkpoints``: how many of a trial's last
    checkpoints an exploit may still ask for. ``warnings``: lines for the user.
    """

    searcher: Searcher | SearchAlgorithm
    scheduler: TrialScheduler
    rungs: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep_checkpoints: int = 2
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """A named searcher + scheduler pair, with its capabilities as data.

    ``needs_checkpoints``: the scheduler pauses or copies trials. ``changes_config``: it changes a
    trial's configuration while it runs (then a diverged trial may be healed by an exploit and is
    not stopped at once). ``requires``: modules that must be installed.
    """

    name: str
    summary: str
    searcher: str
    scheduler: str
    build: Callable[[Problem], Plan]
    needs_checkpoints: bool = False
    changes_config: bool = False
    stops_early: bool = False
    requires: tuple[str, ...] = ()
