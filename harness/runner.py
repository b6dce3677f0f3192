"""Runs a study from its configuration to its report."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path
from types import FrameType

from rich.console import Console

from benchmarks.describe import describe_benchmark
from benchmarks.registry import BENCHMARKS, make_benchmark
from benchmarks.space import describe_space
from harness.clock import Clock, MonotonicClock, utc_timestamp
from harness.console import say
from harness.contract import DEVICE_NAMES, Benchmark, Dataset, Strategy, UsageError
from harness.contract.records import (
    CellRecord,
    StrategyRecord,
    StudyRecord,
)
from harness.decided import DecidedStudy
from harness.devices import decide_budget
from harness.executor import Executor, Outcomes, open_executor
from harness.limits import (
    SAME_FAILURE,
    SAME_FAILURE_EXIT_CODE,
    STOPPED_EXIT_CODE,
    StudyLimits,
)
from harness.live import Expected, display, duration
from harness.problem import make_problem
from harness.provenance import git_state, machine, rerun_command, versions
from harness.redaction import redacted, redacted_data
from harness.retraining.run import retrain_incumbents
from harness.store import LOG_FILE, RunStore
from harness.study import StudyConfig
from reports.run import CellKey
from strategies.check import build_plan, misfit
from strategies.registry import STRATEGIES, resolve


def run_study(config: StudyConfig, console: Console) -> int:
    """Run every cell that is not finished yet, then write tables and report.

    Returns the exit code: 0, 1 where a cell failed, or one of :mod:`harness.limits`.

    Raises:
        UsageError: something about the request is wrong; nothing was started.
    """
    clock = MonotonicClock()
    for path in config.strategy_files:
        STRATEGIES.add_file(path)
    for path in config.benchmark_files:
        BENCHMARKS.add_file(path)
    strategies, left_out = resolve(config.strategies)
    benchmark = make_benchmark(config.benchmark, config.benchmark_options)
    strategies, misfits = _fitting(config, strategies, benchmark)
    left_out |= misfits
    for name, reason in left_out.items():
        say(console, f"left out: {name}: {reason}", "yellow")
    describe_space(benchmark.space(), benchmark.mutable)  # refused here, before anything starts
    out = config.out or Path("runs") / f"{config.benchmark}-{utc_timestamp().replace(':', '')[:17]}"
    store = RunStore(out)
    limits = StudyLimits(config, out, clock)
    with store.locked():
        limits.refuse_full_disk()
        config = store.with_what_was_told(config)
        dataset = benchmark.find_data(config.data_dir)
        log = out / LOG_FILE
        say(console, f"starting Ray … (its log: {log})")
        with open_executor(config, log) as executor:
            # SIGTERM (a CI job cancelled, a batch system's limit) ends a study as Ctrl-C does. Set
            # here, because starting Ray replaces its handler.
            signal.signal(signal.SIGTERM, _interrupt)
            study = _decide(config, benchmark, dataset, strategies, executor)
            for line in _check_plans(study):
                say(console, f"note: {line}", "yellow")
            record = _study_record(study, left_out, executor, store.folder)
            resumed = store.begin(record)
            _announce(console, study, executor, out, resumed)
            outcomes: Outcomes = {}
            try:
                with limits.watched():
                    outcomes = _run_cells(study, executor, store, console, clock)
                    retrain_incumbents(study, executor, store, console, clock)
            except KeyboardInterrupt:
                _say_how_to_go_on(console, study, record.command, store, limits.reached)
                if limits.reached is None:
                    raise
            except OSError as error:
                limits.note(error)
                _say_how_to_go_on(console, study, record.command, store, limits.reached)
    if limits.reached is not None:
        return _report_of_stopped(out, console)
    # Late: seaborn and scipy take seconds that a mistake need not wait for to be told.
    from reports.build import build_report

    report = build_report(out)
    failed = {cell: reason for cell, reason in outcomes.items() if reason is not None}
    for (strategy, seed), reason in failed.items():
        say(console, f"failed: {strategy} seed {seed}: {reason}", "red")
    say(console, f"report: {report}")
    return _exit_code(failed, console)


def _exit_code(failed: dict[CellKey, str], console: Console) -> int:
    again = [cell for cell, reason in failed.items() if reason.startswith(SAME_FAILURE)]
    for strategy, seed in again:
        say(
            console,
            f"ALERT: {strategy} seed {seed} was ended early, as its trials failed alike one after "
            "the other: a bug, not bad luck",
            "bold red",
        )
    if again:
        return SAME_FAILURE_EXIT_CODE
    return 1 if failed else 0


def _report_of_stopped(out: Path, console: Console) -> int:
    from reports.build import build_report

    try:
        say(console, f"report so far: {build_report(out)}")
    except UsageError as error:  # where the disk is full
        say(console, f"no report: {error}", "yellow")
    return STOPPED_EXIT_CODE


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _fitting(
    config: StudyConfig, strategies: list[Strategy], benchmark: Benchmark
) -> tuple[list[Strategy], dict[str, str]]:
    """``all`` means those that can run on the benchmark; one that was named is refused later."""
    problem = make_problem(benchmark, slots=1, budget_epochs=1.0, seed=0)
    reasons = {
        strategy.name: reason
        for strategy in strategies
        if strategy.name not in config.strategies
        and (reason := misfit(strategy, problem, benchmark.gives_checkpoints))
    }
    return [strategy for strategy in strategies if strategy.name not in reasons], reasons


def _decide(
    config: StudyConfig,
    benchmark: Benchmark,
    dataset: Dataset,
    strategies: list[Strategy],
    executor: Executor,
) -> DecidedStudy:
    """Fill in what the executor decides, and refuse what it cannot do."""
    devices = executor.decide_devices(config, benchmark)
    budget = decide_budget(config, devices, benchmark)
    decided = config.model_copy(
        update={
            "strategies": [strategy.name for strategy in strategies],
            "budget": budget / 3600,
            "devices_per_worker": devices.devices_per_worker,
            "max_concurrent": devices.slots,
        }
    )
    return DecidedStudy(decided, benchmark, dataset, strategies, devices, budget)


def _check_plans(study: DecidedStudy) -> list[str]:
    """Build every strategy once before anything runs; returns what the user should know."""
    notes: list[str] = []
    for strategy in study.strategies:
        problem = make_problem(
            study.benchmark, study.devices.slots, study.budget_epochs, study.config.seeds[0]
        )
        plan = build_plan(strategy, problem, study.benchmark.gives_checkpoints)
        notes += [f"{strategy.name}: {warning}" for warning in plan.warnings]
    return notes


def _study_record(
    study: DecidedStudy, left_out: dict[str, str], executor: Executor, out: Path
) -> StudyRecord:
    config = study.config
    commit, dirty = git_state()
    return StudyRecord(
        study=redacted_data(config.model_dump(mode="json", exclude={"out", "goal", "decisions"})),
        benchmark=describe_benchmark(
            study.benchmark, study.dataset, config.data_seed, config.targets
        ),
        strategies=[
            StrategyRecord(
                name=strategy.name,
                summary=strategy.summary,
                searcher=strategy.searcher,
                scheduler=strategy.scheduler,
                stops_early=strategy.stops_early,
                changes_config=strategy.changes_config,
                source=STRATEGIES.source(strategy.name),
            )
            for strategy in study.strategies
        ],
        left_out=redacted_data(left_out),
        seeds=config.seeds,
        **executor.study_fields(),
        devices=study.devices,
        budget_device_seconds=study.budget_device_seconds,
        versions=versions(),
        git_commit=commit,
        git_dirty=dirty,
        machine=machine(),
        created_at=utc_timestamp(),
        command=redacted(rerun_command(config.model_copy(update={"out": out}))),
        goal=None if config.goal is None else redacted(config.goal),
        decisions=redacted_data(config.decisions),
    )


def _announce(
    console: Console, study: DecidedStudy, executor: Executor, out: Path, resumed: bool
) -> None:
    devices, config = study.devices, study.config
    unit = DEVICE_NAMES[devices.kind]
    budget = (
        f"budget {study.budget_device_seconds / 3600:.4g} {unit}-hours per cell = "
        f"{duration(study.cell_seconds)} with all of them, about {study.budget_epochs:.0f} epochs"
    )
    if executor.cell_overhead_seconds is not None:
        cell_seconds = study.cell_seconds + executor.cell_overhead_seconds
        budget += f"; the study takes about {duration(len(study.cells) * cell_seconds)}"
    lines = [
        f"{'going on with' if resumed else 'study'} {out}: {config.benchmark} "
        f"(data: {study.dataset.source}), {len(study.strategies)} strategies × "
        f"{len(config.seeds)} seed(s) = {len(study.cells)} cells",
        f"each cell holds {devices.slots} slot(s) × {devices.workers_per_trial} "
        f"{'worker' if devices.workers_per_trial == 1 else 'workers'} × "
        f"{devices.devices_per_worker:g} {unit} ({devices.model})",
        budget,
    ]
    for line in lines:
        say(console, line)


def _run_cells(
    study: DecidedStudy, executor: Executor, store: RunStore, console: Console, clock: Clock
) -> Outcomes:
    names = [f"{strategy} seed {seed}" for strategy, seed in study.cells]
    expected = Expected(
        executor.cells_at_once,
        None
        if executor.cell_overhead_seconds is None
        else study.cell_seconds + executor.cell_overhead_seconds,
    )
    budget = study.budget_device_seconds
    with display(console, names, study.devices, budget, expected, clock) as shown:
        return executor.run(study, store, shown)


def _say_how_to_go_on(
    console: Console, study: DecidedStudy, command: str, store: RunStore, limit: str | None
) -> None:
    done = sum(isinstance(store.finished(*cell), CellRecord) for cell in study.cells)
    why = "interrupted" if limit is None else f"stopped: {limit}"
    say(
        console,
        f"{why}: {done} of {len(study.cells)} cells are done and kept. Go on with:\n"
        f"  {command}\nor see what there is so far with:\n"
        f"  python -m harness report {shlex.quote(str(store.folder))}",
    )
