"""One retraining, epoch by epoch, wherever the epochs are trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from harness.contract import Benchmark, Config
from harness.contract.records import Retraining
from harness.redaction import redacted
from harness.retraining.job import RetrainJob
from harness.tuning.results import missing_metric

TrainEpoch = Callable[[Config, bool], Mapping[str, float] | str]
"""Trains one epoch with a configuration; the epoch's metrics, or why there are none. ``True``: the
session has to be started with it first, from where the epoch before left off."""


def follow(job: RetrainJob, benchmark: Benchmark, train_epoch: TrainEpoch) -> Retraining:
    """Train a job to its end, or to the first epoch that fails or has no finite score."""

    def failed(epoch: int, reason: str) -> Retraining:
        why = redacted(f"epoch {epoch} of {len(job.configs)}: {reason}")
        return Retraining(seed=job.seed, validation_score=None, test_score=None, reason=why)

    before = None
    metrics: Mapping[str, float] = {}
    for epoch, config in enumerate(job.configs, start=1):
        outcome = train_epoch(dict(config), config != before)
        if isinstance(outcome, str):
            return failed(epoch, outcome)
        if (reason := _useless(benchmark, outcome)) is not None:
            return failed(epoch, reason)
        metrics, before = outcome, config
    test = benchmark.test_metric
    return Retraining(
        seed=job.seed,
        validation_score=metrics[benchmark.metric],
        test_score=None if test is None else metrics.get(test),
    )


def _useless(benchmark: Benchmark, metrics: Mapping[str, float]) -> str | None:
    missing = missing_metric(benchmark.metric, metrics)
    if missing is not None:
        return missing
    score = metrics[benchmark.metric]
    return None if math.isfinite(score) else f"diverged: a score of {score}"
