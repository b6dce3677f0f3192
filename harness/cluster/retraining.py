"""Retrains incumbents on worker groups like a cell's, with no budget that would cut them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock, Thread
from typing import Any

import ray

from benchmarks.registry import make_benchmark
from harness.cluster.messages import EpochCommand, EpochError, EpochResult
from harness.cluster.pool import START_TIMEOUT_S, STRAGGLER_FACTOR, STRAGGLER_MIN_S, start_pool
from harness.cluster.spec import ClusterRetrainSpec
from harness.cluster.storage import open_storage
from harness.contract import Benchmark, Config
from harness.contract.records import Retraining
from harness.retraining.follow import follow
from harness.retraining.job import RetrainJob

Report = Callable[[int, Retraining], None]


def retrain(spec: ClusterRetrainSpec, report: Report) -> None:
    """Start worker groups and train every job; ``report`` is called for each, by its index."""
    benchmark = make_benchmark(spec.study.benchmark, spec.study.benchmark_options)
    storage = open_storage(spec.storage).child(spec.name)
    pool, opening = start_pool(spec, benchmark, storage, None)
    ray.get(opening)
    retrain_on(pool, spec.devices.slots, spec.jobs, benchmark, report)
    ray.get(pool.close.remote())


def hangs_after_s(job: RetrainJob) -> float:
    """An epoch that no rank has done by then will not be done."""
    return max(STRAGGLER_MIN_S, STRAGGLER_FACTOR * job.epoch_seconds)


def retrain_on(
    pool: Any,
    slots: int,
    jobs: Sequence[RetrainJob],
    benchmark: Benchmark,
    report: Report,
    limit_s: Callable[[RetrainJob], float] = hangs_after_s,
) -> None:
    """Have each slot of a started pool take job after job.

    Raises:
        Exception: a slot could not go on; the others did, as long as there was a job.
    """
    waiting = deque(enumerate(jobs))
    lock = Lock()
    errors: list[Exception] = []

    def serve(slot: int) -> None:
        try:
            while True:
                with lock:
                    if not waiting:
                        return
                    index, job = waiting.popleft()
                training = _Training(pool, slot, index, job.seed, limit_s(job))
                retraining = follow(job, benchmark, training)
                with lock:
                    report(index, retraining)
        except Exception as error:
            errors.append(error)

    # Daemons, so that a process that is told to end does not wait for an epoch.
    threads = [Thread(target=serve, args=(slot,), daemon=True) for slot in range(slots)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class _Training:
    """One job's epochs on a slot."""

    def __init__(self, pool: Any, slot: int, index: int, seed: int, limit_s: float) -> None:
        self._pool, self._slot, self._index, self._seed = pool, slot, index, seed
        self._limit_s = limit_s
        self._state_ref: list[Any] = []

    def __call__(self, config: Config, must_start: bool) -> Mapping[str, float] | str:
        command = EpochCommand(
            trial=self._index,
            config=config,
            seed=self._seed,
            start=must_start,
            state_ref=self._state_ref if must_start else [],
        )
        # Longer than a group may take to start again, and then to hang.
        timeout = START_TIMEOUT_S + (1 + STRAGGLER_FACTOR) * max(self._limit_s, STRAGGLER_MIN_S)
        try:
            result: EpochResult = ray.get(
                self._pool.train.remote(self._slot, command, self._limit_s), timeout=timeout
            )
        except ray.exceptions.RayTaskError as error:
            if not isinstance(error.cause, EpochError):
                raise
            failure = error.cause.failure
            print(f"retraining {self._index} failed: {failure.log}", file=sys.stderr)
            return failure.reason
        self._state_ref = result.state_ref
        return result.metrics
