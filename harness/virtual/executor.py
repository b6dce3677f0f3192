"""The virtual executor: cells are Ray tasks, on every core of one machine or of a whole cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ray

from harness.cell import CellSpec
from harness.cluster.ray_cluster import ray_cluster
from harness.contract import Benchmark, UsageError, Worker
from harness.contract.files import write_atomically
from harness.contract.records import CellRecord, DevicesRecord
from harness.contract.registry import module_of_file
from harness.decided import DecidedStudy
from harness.devices import ClusterDevices, decide_devices
from harness.executor import Outcomes, RetrainingDone, show_end
from harness.live import Display
from harness.redaction import redacted
from harness.retraining.job import RetrainJob
from harness.store import RunStore
from harness.study import StudyConfig
from harness.virtual.costs import Costs, read_costs
from harness.virtual.retraining import batches, run_retrain_task
from harness.virtual.task import CellTask, ProgressBoard, run_cell_task
from reports.store import CELL_FILE, verify_cell

POLL_SECONDS = 0.3


class VirtualExecutor:
    """An :class:`harness.executor.Executor` on as many virtual devices as asked."""

    cell_overhead_seconds = None

    def __init__(self, cores: int, costs: Costs, is_deterministic: bool) -> None:
        self.cells_at_once = cores
        self._costs, self._is_deterministic = costs, is_deterministic

    def decide_devices(self, config: StudyConfig, benchmark: Benchmark) -> DevicesRecord:
        assert config.devices is not None
        there_are = ClusterDevices(benchmark.device_kind, "virtual", (float(config.devices),))
        # A virtual device is not shared by itself, as the cores of a small machine are.
        whole = config.model_copy(update={"devices_per_worker": config.devices_per_worker or 1.0})
        return decide_devices(whole, there_are, max_slots=config.devices)

    def study_fields(self) -> dict[str, Any]:
        return {
            "executor": "virtual",
            "is_deterministic": self._is_deterministic,
            "costs": self._costs.model_dump(),
        }

    def run(self, study: DecidedStudy, store: RunStore, shown: Display) -> Outcomes:
        outcomes: Outcomes = {}
        waiting: list[int] = []
        for index, cell in enumerate(study.cells):
            before = store.finished(*cell)
            if isinstance(before, CellRecord):
                shown.ended(index, before, kept=True)
                outcomes[cell] = None
            else:
                waiting.append(index)
        if not waiting:
            return outcomes
        benchmark = _sent_ahead(study)
        board = ray.remote(num_cpus=0)(ProgressBoard).remote()
        strategies = {strategy.name: strategy for strategy in study.strategies}
        running = {}
        for index in waiting:
            name, seed = study.cells[index]
            spec = CellSpec(**study.cell_fields(name, seed))
            task = run_cell_task.remote(
                CellTask(index, spec, strategies[name], self._costs), benchmark, board
            )
            running[task] = index
        seen: set[int] = set()
        while running:
            ended, _ = ray.wait(list(running), timeout=POLL_SECONDS)
            for index, progress in ray.get(board.take.remote()):
                if index not in seen:
                    seen.add(index)
                    shown.started(index)
                shown.progress(index, progress)
            for task in ended:
                index = running.pop(task)
                outcomes[study.cells[index]] = _keep(study, store, index, task, shown)
        return {cell: outcomes[cell] for cell in study.cells}

    def retrain(
        self,
        study: DecidedStudy,
        store: RunStore,
        jobs: Sequence[RetrainJob],
        done: RetrainingDone,
    ) -> str | None:
        benchmark = _sent_ahead(study)
        running = {
            run_retrain_task.remote(
                [jobs[index] for index in batch], benchmark, study.dataset, study.config.data_seed
            ): batch
            for batch in batches(jobs, study.benchmark)
        }
        why = None
        while running:
            ended, _ = ray.wait(list(running), timeout=POLL_SECONDS)
            for task in ended:
                batch = running.pop(task)
                try:
                    retrainings = ray.get(task)
                except ray.exceptions.RayError as error:
                    why = redacted(str(error)).strip().splitlines()[-1]
                    continue
                for index, retraining in zip(batch, retrainings, strict=True):
                    done(index, retraining)
        return why


def _sent_ahead(study: DecidedStudy) -> Any:
    """The study's benchmark, ready for every task, as a Ray object."""
    for path in (*study.config.strategy_files, *study.config.benchmark_files):
        # The nodes have no such file: its classes travel by value.
        ray.cloudpickle.register_pickle_by_value(module_of_file(path))
    if study.benchmark.light_sessions:
        # What it reads or fits once is done here, and travels with it to every task.
        try:
            study.benchmark.session(Worker(), study.dataset, study.config.data_seed)
        except UsageError:
            raise
        except Exception:
            pass  # Each task fails on it as well, and says why.
    return ray.put(study.benchmark)


def _keep(
    study: DecidedStudy, store: RunStore, index: int, task: Any, shown: Display
) -> str | None:
    """Write what a task gave into the cell's folder; why the cell failed, if it did."""
    folder = store.fresh_cell(*study.cells[index])
    try:
        files: dict[str, bytes] = ray.get(task)
    except ray.exceptions.RayError as error:
        files = {"log.txt": redacted(str(error)).encode()}
    # The cell's record comes last: a cell without one is not finished.
    for name in sorted(files, key=lambda name: name == CELL_FILE):
        (folder / name).parent.mkdir(exist_ok=True)
        write_atomically(folder / name, files[name])
    outcome = verify_cell(folder)
    if isinstance(outcome, str):
        last = files["log.txt"].decode(errors="replace").strip().splitlines()[-1:]
        outcome = f"{' '.join(last)}; see {folder / 'log.txt'}"
    return show_end(shown, index, outcome)


@contextlib.contextmanager
def virtual_executor(config: StudyConfig, log: Path) -> Iterator[VirtualExecutor]:
    """Connect to a cluster, or start one of this machine's cores. Raises :class:`UsageError`."""
    costs = read_costs(config.costs)
    with ray_cluster(config.address, log, is_for_tasks=True) as cluster:
        cores = max(1, int(cluster.cores))
        yield VirtualExecutor(cores, costs, config.charge_searcher != "measured")
