"""Goes along recorded and predicted learning curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.recorded.replay import Replay
from harness.contract import Benchmark, Config, EpochCost, Session


class TableSession(Session):
    """The only state is the epoch: a trial that is given another configuration goes on along that
    one's curve. Past a divergence all scores are NaN, and an epoch costs what the last one did."""

    def __init__(self, benchmark: Benchmark, replay: Replay) -> None:
        self._names = {
            "validation_score": benchmark.metric,
            "test_score": benchmark.test_metric,
            "validation_loss": benchmark.loss_metric,
        }
        self._replay = replay

    def start(self, config: Config, seed: int) -> None:
        self._track, self._epoch = self._replay.track(config, seed), 0
        self._length = len(self._track["validation_score"])

    def train_epoch(self) -> Mapping[str, float]:
        self._epoch += 1
        loss = self._at("train_loss")
        return {} if loss is None else {"train_loss": loss}

    def evaluate(self) -> Mapping[str, float]:
        scores = {name: self._at(column) for column, name in self._names.items() if name}
        return {name: score for name, score in scores.items() if score is not None}

    def state(self) -> Mapping[str, Any]:
        return {"epoch": self._epoch}

    def load(self, state: Mapping[str, Any]) -> None:
        self._epoch = state["epoch"]

    def epoch_cost(self) -> EpochCost:
        place = min(max(self._epoch, 1), self._length) - 1
        track = self._track
        return EpochCost(
            train=track["train_seconds"][place],
            evaluate=track["evaluate_seconds"][place],
            checkpoint=track["checkpoint_seconds"][place],
            start=track["start_seconds"][0] if self._epoch <= 1 else 0.0,
            is_processor_time=self._replay.is_processor_time,
        )

    def scores_ahead(self, epochs: int) -> Sequence[float]:
        scores = self._track["validation_score"][self._epoch : self._epoch + epochs]
        return scores or [math.nan]

    def _at(self, column: str) -> float | None:
        """This epoch's value; ``None`` where the table has no such column's value."""
        values = self._track[column]
        if self._epoch <= self._length:
            return values[self._epoch - 1]
        return None if values[0] is None else math.nan
