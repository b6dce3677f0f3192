"""Runs a study from its configuration to its report."""

from __future__ import annotations

import contextlib
import shlex
import signal
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console

from benchmarks.describe import describe_benchmark
from benchmarks.registry import BENCHMARKS, make_benchmark
from benchmarks.space import describe_space
from harness.clock import Clock, MonotonicClock, utc_timestamp
from harness.cluster.launcher import launch_cell
from harness.cluster.ray_cluster import RayCluster, ray_cluster
from harness.cluster.spec import ClusterCellSpec
from harness.cluster.storage import Storage, is_local, open_storage
from harness.contract import DEVICE_NAMES, Benchmark, Dataset, Strategy, UsageError
from harness.contract.records import (
    CellRecord,
    DevicesRecord,
    StrategyRecord,
    StudyRecord,
)
from harness.devices import decide_budget, decide_devices
from harness.live import CELL_OVERHEAD_S, Display, display, duration
from harness.problem import make_problem
from harness.provenance import git_state, machine, rerun_command, versions
from harness.store import LOG_FILE, RunStore
from harness.study import StudyConfig
from reports.store import cell_slug, verify_cell
from strategies.check import build_plan, misfit
from strategies.registry import STRATEGIES, resolve


@dataclass(frozen=True)
class _Study:
    """A study with everything decided."""

    config: StudyConfig
    benchmark: Benchmark
    dataset: Dataset
    strategies: list[Strategy]
    devices: DevicesRecord
    budget_device_seconds: float

    @property
    def cells(self) -> list[tuple[str, int]]:
        """Seed by seed, so that an interrupted study has every strategy for the seeds it did."""
        return [(s.name, seed) for seed in self.config.seeds for s in self.strategies]

    @property
    def budget_epochs(self) -> float:
        epoch = self.benchmark.epoch_device_seconds(self.devices.kind)
        return self.budget_device_seconds / epoch


def run_study(config: StudyConfig, console: Console) -> int:
    """Run every cell that is not finished yet, then write tables and report.

    Returns the exit code: 0, or 1 where a cell failed.

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
    for name, reason in {**left_out, **misfits}.items():
        _say(console, f"left out: {name}: {reason}", "yellow")
    describe_space(benchmark.space(), benchmark.mutable)  # refused here, before anything starts
    out = config.out or Path("runs") / f"{config.benchmark}-{utc_timestamp().replace(':', '')[:17]}"
    store = RunStore(out)
    with store.locked():
        dataset = benchmark.find_data(config.data_dir)
        log = out / LOG_FILE
        _say(console, f"starting Ray … (its log: {log})")
        with ray_cluster(config.address, log) as cluster:
            # SIGTERM (a CI job cancelled, a batch system's limit) ends a study as Ctrl-C does. Set
            # here, because starting Ray replaces its handler.
            signal.signal(signal.SIGTERM, _interrupt)
            study = _decide(config, benchmark, dataset, strategies, cluster)
            for line in _check_plans(study):
                _say(console, f"note: {line}", "yellow")
            record = _study_record(study, store.folder)
            resumed = store.begin(record)
            storage = open_storage(config.storage or str(_default_storage(out)))
            _announce(console, study, out, resumed)
            try:
                outcomes = _run_cells(study, store, cluster, storage, console, clock)
            except KeyboardInterrupt:
                _say_how_to_go_on(console, study, record.command, store)
                raise
            finally:
                with contextlib.suppress(OSError):
                    _default_storage(out).rmdir()
    # Late: seaborn and scipy take seconds that a mistake need not wait for to be told.
    from reports.build import build_report

    report = build_report(out)
    failed = {cell: reason for cell, reason in outcomes.items() if reason is not None}
    for (strategy, seed), reason in failed.items():
        _say(console, f"failed: {strategy} seed {seed}: {reason}", "red")
    _say(console, f"report: {report}")
    return 1 if failed else 0


def _say(console: Console, text: str, style: str | None = None) -> None:
    """Print a line as it is: no markup, no wrapping of what may be copied."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


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
    cluster: RayCluster,
) -> _Study:
    """Fill in what the machine decides, and refuse what it cannot do."""
    if cluster.nodes > 1 and is_local(config.storage):
        raise UsageError(
            f"the cluster has {cluster.nodes} nodes, but --storage is "
            f"{config.storage or 'the run folder'}, a disk of this node alone: give --storage an "
            "fsspec URL that every node reaches (s3://…, gs://…)"
        )
    devices = decide_devices(config, cluster.devices)
    budget = decide_budget(config, devices, benchmark)
    decided = config.model_copy(
        update={
            "strategies": [strategy.name for strategy in strategies],
            "budget": budget / 3600,
            "devices_per_worker": devices.devices_per_worker,
            "max_concurrent": devices.slots,
        }
    )
    return _Study(decided, benchmark, dataset, strategies, devices, budget)


def _check_plans(study: _Study) -> list[str]:
    """Build every strategy once before anything runs; returns what the user should know."""
    notes: list[str] = []
    for strategy in study.strategies:
        problem = make_problem(
            study.benchmark, study.devices.slots, study.budget_epochs, study.config.seeds[0]
        )
        plan = build_plan(strategy, problem, study.benchmark.gives_checkpoints)
        notes += [f"{strategy.name}: {warning}" for warning in plan.warnings]
    return notes


def _study_record(study: _Study, out: Path) -> StudyRecord:
    config = study.config
    commit, dirty = git_state()
    return StudyRecord(
        study=config.model_dump(mode="json", exclude={"out"}),
        benchmark=describe_benchmark(study.benchmark, study.dataset, config.data_seed),
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
        seeds=config.seeds,
        executor="cluster",
        devices=study.devices,
        budget_device_seconds=study.budget_device_seconds,
        versions=versions(),
        git_commit=commit,
        git_dirty=dirty,
        machine=machine(),
        created_at=utc_timestamp(),
        command=rerun_command(config.model_copy(update={"out": out})),
    )


def _announce(console: Console, study: _Study, out: Path, resumed: bool) -> None:
    devices, config = study.devices, study.config
    unit = DEVICE_NAMES[devices.kind]
    seconds = study.budget_device_seconds / devices.held
    lines = [
        f"{'going on with' if resumed else 'study'} {out}: {config.benchmark} "
        f"(data: {study.dataset.source}), {len(study.strategies)} strategies × "
        f"{len(config.seeds)} seed(s) = {len(study.cells)} cells",
        f"each cell holds {devices.slots} slot(s) × {devices.workers_per_trial} workers × "
        f"{devices.devices_per_worker:g} {unit} ({devices.model})",
        f"budget {study.budget_device_seconds / 3600:.4g} {unit}-hours per cell = "
        f"{duration(seconds)} with all of them, about {study.budget_epochs:.0f} epochs; "
        f"the study takes about {duration(len(study.cells) * (seconds + CELL_OVERHEAD_S))}",
    ]
    for line in lines:
        _say(console, line)


def _run_cells(
    study: _Study,
    store: RunStore,
    cluster: RayCluster,
    storage: Storage,
    console: Console,
    clock: Clock,
) -> dict[tuple[str, int], str | None]:
    """Run the cells one after another; returns for each why it failed, or ``None``."""
    outcomes: dict[tuple[str, int], str | None] = {}
    names = [f"{strategy} seed {seed}" for strategy, seed in study.cells]
    with display(console, names, study.devices, study.budget_device_seconds, clock) as shown:
        for index, (strategy, seed) in enumerate(study.cells):
            before = store.finished(strategy, seed)
            if isinstance(before, CellRecord):
                shown.ended(index, before, kept=True)
                outcomes[strategy, seed] = None
                continue
            outcomes[strategy, seed] = _run_cell(study, store, cluster, storage, index, shown)
    return outcomes


def _say_how_to_go_on(console: Console, study: _Study, command: str, store: RunStore) -> None:
    done = sum(isinstance(store.finished(*cell), CellRecord) for cell in study.cells)
    _say(
        console,
        f"interrupted: {done} of {len(study.cells)} cells are done and kept. Go on with:\n"
        f"  {command}\nor see what there is so far with:\n"
        f"  python -m harness report {shlex.quote(str(store.folder))}",
    )


def _run_cell(
    study: _Study,
    store: RunStore,
    cluster: RayCluster,
    storage: Storage,
    index: int,
    shown: Display,
) -> str | None:
    strategy, seed = study.cells[index]
    folder = store.fresh_cell(strategy, seed)
    log = folder / "log.txt"
    shown.started(index)
    spec = _cell_spec(study, store.folder, cluster, strategy, seed)
    try:
        code = launch_cell(spec, folder, log, lambda progress: shown.progress(index, progress))
    finally:
        # Here, not in the cell's process, so that nothing is left of one that was killed.
        storage.child(spec.name).delete()
    outcome = verify_cell(folder)
    if isinstance(outcome, str):
        outcome = f"its process ended with exit code {code}; see {log}"
    shown.ended(index, outcome, kept=False)
    if isinstance(outcome, str):
        return outcome
    return None if outcome.status == "completed" else outcome.reason


def _default_storage(out: Path) -> Path:
    """Empty again whenever no cell is running."""
    return out.resolve() / "storage"


def _cell_spec(
    study: _Study, out: Path, cluster: RayCluster, strategy: str, seed: int
) -> ClusterCellSpec:
    slug = cell_slug(strategy, seed)
    storage = study.config.storage or str(_default_storage(out))
    return ClusterCellSpec(
        strategy=strategy,
        seed=seed,
        study=study.config,
        dataset_path=study.dataset.path,
        dataset_source=study.dataset.source,
        dataset_sha256=study.dataset.sha256,
        devices=study.devices,
        budget_device_seconds=study.budget_device_seconds,
        budget_epochs=study.budget_epochs,
        ray_address=cluster.address,
        ships_code=not cluster.is_ours,
        storage=storage,
        name=f"{out.name}-{slug}-{uuid.uuid4().hex[:8]}",
    )
