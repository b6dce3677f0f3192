"""A benchmark whose scores are a function, and strategies that try the configurations given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ray import tune
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from harness.contract import (
    Benchmark,
    Config,
    Dataset,
    DeviceKind,
    EpochCost,
    Mode,
    Plan,
    Problem,
    Session,
    Strategy,
    Worker,
)

Score = Callable[[Config, int], float | None]
"""(configuration, epoch from 1 on) → what is reported (``None``: nothing of that name)."""


class Scripted(Benchmark):
    """``score`` may raise. An epoch takes ``epoch_seconds``."""

    name = "scripted"
    summary = "scores by a function"
    metric = "score"
    light_sessions = True

    def __init__(
        self,
        score: Score,
        *,
        mode: Mode = "max",
        max_epochs: int = 9,
        space: Mapping[str, Any] | None = None,
        epoch_seconds: float = 10.0,
    ) -> None:
        self.score, self.mode, self.max_epochs = score, mode, max_epochs
        self.mutable = frozenset({"x"})
        self._space = dict(space or {"x": tune.uniform(0.0, 1.0)})
        self.epoch_seconds = epoch_seconds

    def space(self) -> dict[str, Any]:
        return self._space

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return self.epoch_seconds

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return _ScriptedSession(self)


class _ScriptedSession(Session):
    def __init__(self, benchmark: Scripted) -> None:
        self._benchmark = benchmark

    def start(self, config: Config, seed: int) -> None:
        self._config, self._epoch = config, 0

    def train_epoch(self) -> Mapping[str, float]:
        self._epoch += 1
        return {}

    def evaluate(self) -> Mapping[str, float]:
        score = self._benchmark.score(self._config, self._epoch)
        return {"other": 0.0} if score is None else {"score": score}

    def state(self) -> Mapping[str, Any]:
        return {"epoch": self._epoch}

    def load(self, state: Mapping[str, Any]) -> None:
        self._epoch = state["epoch"]

    def epoch_cost(self) -> EpochCost:
        return EpochCost(self._benchmark.epoch_seconds)


class _Points(Searcher):
    """The points given, in order, and then no more."""

    def __init__(self, points: Sequence[float], mode: Mode) -> None:
        super().__init__(metric="score", mode=mode)
        self._left = list(points)

    def suggest(self, trial_id: str) -> Any:
        return {"x": self._left.pop(0)} if self._left else Searcher.FINISHED

    def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None: ...

    def save(self, checkpoint_path: str) -> None: ...

    def restore(self, checkpoint_path: str) -> None: ...


def trying(
    points: Sequence[float], scheduler: Callable[[Problem], TrialScheduler] | None = None
) -> Strategy:
    """Tries ``x`` = each of the points, under FIFO or what ``scheduler`` makes."""

    def build(problem: Problem) -> Plan:
        made = scheduler(problem) if scheduler else FIFOScheduler()
        return Plan(searcher=_Points(points, problem.mode), scheduler=made)

    return strategy(build)


def strategy(build: Callable[[Problem], Plan], **capabilities: bool) -> Strategy:
    return Strategy(
        name="mine", summary="a test's", searcher="mine", scheduler="mine", build=build,
        **capabilities,
    )  # fmt: skip
