"""Where sessions sit: trials take turns on them, as they do on a cluster's worker groups."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.contract import Benchmark, Config, Dataset, Session, Worker
from harness.tuning.random_states import unchanged_globals

State = Mapping[str, Any]


class Seat:
    """One session and the trial that has it."""

    def __init__(self, session: Session, is_light: bool) -> None:
        self.session = session
        self._is_light = is_light
        self._holder: object = None

    def start(self, holder: object, config: Config, seed: int, state: State | None) -> None:
        """Give the session to a trial, from its start or from a state."""
        self._holder = None
        self.session.start(dict(config), seed)
        if state is not None:
            # A cluster's session reads a copy of its own from a file.
            self.session.load(copy.deepcopy(dict(state)))
        self._holder = holder

    def has(self, holder: object) -> bool:
        return self._holder is holder

    def snapshot(self) -> State:
        """The state as it is now, whatever the session does next."""
        state = self.session.state()
        return state if self._is_light else copy.deepcopy(dict(state))

    def scores_ahead(self, metric: str, epochs: int) -> Sequence[float]:
        """What the trial that has the session would report of so many more epochs, up to the first
        that is not finite. The session is nobody's then."""
        self._holder = None
        known = self.session.scores_ahead(epochs)
        if known is not None:
            return [float(score) for score in known]
        scores: list[float] = []
        with unchanged_globals():
            while len(scores) < epochs:
                metrics = {**self.session.train_epoch(), **self.session.evaluate()}
                scores.append(float(metrics[metric]))
                if not math.isfinite(scores[-1]):
                    break
        return scores


def make_seats(benchmark: Benchmark, dataset: Dataset, data_seed: int, slots: int) -> list[Seat]:
    """A seat per slot: each its own where sessions are light or cannot hand over their state, and
    a single one for all otherwise, since a real model and its data are not there 64 times."""

    def session() -> Session:
        return benchmark.session(Worker(), dataset, data_seed)

    is_light = benchmark.light_sessions
    if is_light or not benchmark.gives_checkpoints:
        return [Seat(session(), is_light) for _ in range(slots)]
    return [Seat(session(), is_light)] * slots
