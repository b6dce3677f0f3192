"""Trains curves for a table: single-threaded sessions side by side, one per process."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.recorded.table import Config, Curve, Epoch
from benchmarks.registry import BENCHMARKS, make_benchmark
from harness.contract import Benchmark, Dataset, Session, Worker


@dataclass(frozen=True)
class Failed:
    """A configuration whose training raised: there is no curve of it."""

    config: Config
    seed: int
    reason: str


@dataclass(frozen=True)
class SessionSpec:
    """How a process builds its session."""

    benchmark: str
    options: dict[str, Any]
    files: tuple[Path, ...]
    dataset: Dataset
    data_seed: int
    recording: int


def train_curves(
    spec: SessionSpec, wanted: Sequence[tuple[Config, int]], jobs: int
) -> Generator[Curve | Failed, None, None]:
    """Train every (configuration, seed), ``jobs`` at a time, in order; yields each as it is done.

    Closing the iterator ends the processes.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=_set_up, initargs=(spec,))
    waiting = iter(wanted)
    running: set[Future[Curve | Failed]] = set()
    try:
        while True:
            # One more than there are processes, so that none waits for this one to be awake.
            while len(running) <= jobs and (task := next(waiting, None)) is not None:
                running.add(pool.submit(_train, *task))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class _Process:
    benchmark: Benchmark
    session: Session
    recording: int


_process: _Process


def _set_up(spec: SessionSpec) -> None:
    global _process
    import signal

    import torch

    # Ctrl-C is the parent's to handle: it keeps what is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    for path in spec.files:
        BENCHMARKS.add_file(path)
    benchmark = make_benchmark(spec.benchmark, spec.options)
    session = benchmark.session(Worker(), spec.dataset, spec.data_seed)
    _process = _Process(benchmark, session, spec.recording)


def _train(config: Config, seed: int) -> Curve | Failed:
    benchmark, session = _process.benchmark, _process.session
    lap = _stopwatch()
    epochs: list[Epoch] = []
    try:
        session.start(dict(config), seed)
        start_seconds = lap()
        while len(epochs) < benchmark.max_epochs:
            metrics = dict(session.train_epoch())
            train_seconds = lap()
            metrics |= session.evaluate()
            evaluate_seconds = lap()
            session.state()
            epochs.append(
                Epoch(
                    validation_score=float(metrics[benchmark.metric]),
                    validation_loss=_optional(metrics, benchmark.loss_metric),
                    train_loss=_optional(metrics, "train_loss"),
                    test_score=_optional(metrics, benchmark.test_metric),
                    start_seconds=0.0 if epochs else start_seconds,
                    train_seconds=train_seconds,
                    evaluate_seconds=evaluate_seconds,
                    checkpoint_seconds=lap(),
                )
            )
            if not math.isfinite(epochs[-1].validation_score):
                break
    except Exception as error:
        return Failed(config, seed, f"epoch {len(epochs) + 1}: {type(error).__name__}: {error}")
    return Curve(config, seed, _process.recording, tuple(epochs))


def _optional(metrics: dict[str, float], name: str | None) -> float | None:
    value = None if name is None else metrics.get(name)
    return None if value is None else float(value)


def _stopwatch() -> Callable[[], float]:
    """Seconds of this process's processor since the last call.

    Not of the wall clock: the process has one thread, so that on an idle core both are the same,
    and other work on the machine stretches only the wall's.
    """
    mark = time.process_time()

    def lap() -> float:
        nonlocal mark
        now = time.process_time()
        elapsed, mark = now - mark, now
        return elapsed

    return lap
