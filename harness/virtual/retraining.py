"""Retrainings in a process of the virtual executor's, as Ray tasks. No clock follows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import ray

from harness.contract import Benchmark, Config, Dataset
from harness.contract.records import Retraining
from harness.retraining.follow import follow
from harness.retraining.job import RetrainJob
from harness.virtual.seats import Seat, make_seats
from harness.virtual.task import keep_to_one_core


def batches(jobs: Sequence[RetrainJob], benchmark: Benchmark) -> list[list[int]]:
    """Jobs, by their index, that one task does: a cell's where sessions are light, as the task
    itself takes longer than they do."""
    if not benchmark.light_sessions:
        return [[index] for index in range(len(jobs))]
    by_cell: defaultdict[int, list[int]] = defaultdict(list)
    for index, job in enumerate(jobs):
        by_cell[job.cell].append(index)
    return list(by_cell.values())


@ray.remote(num_cpus=1, max_retries=2)
def run_retrain_task(
    jobs: Sequence[RetrainJob], benchmark: Benchmark, dataset: Dataset, data_seed: int
) -> list[Retraining]:
    """Train a batch of jobs; one that fails says so itself."""
    keep_to_one_core(benchmark)
    return retrain(jobs, benchmark, dataset, data_seed)


def retrain(
    jobs: Sequence[RetrainJob], benchmark: Benchmark, dataset: Dataset, data_seed: int
) -> list[Retraining]:
    """Train jobs one after another on a single session in this process."""
    (seat,) = make_seats(benchmark, dataset, data_seed, slots=1)
    return [follow(job, benchmark, _Training(seat, job.seed)) for job in jobs]


class _Training:
    """One job's epochs on the session."""

    def __init__(self, seat: Seat, seed: int) -> None:
        self._seat, self._seed = seat, seed
        self._has_trained = False

    def __call__(self, config: Config, must_start: bool) -> Mapping[str, float] | str:
        seat = self._seat
        try:
            if must_start:
                state = seat.snapshot() if self._has_trained else None
                seat.start(self, config, self._seed, state)
            metrics = {**seat.session.train_epoch(), **seat.session.evaluate()}
            self._has_trained = True
            return {name: float(value) for name, value in metrics.items()}
        except Exception as error:
            return f"{type(error).__name__}: {error}"
