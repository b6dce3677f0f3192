"""Real cells on one Ray cluster that the tests of this package share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.cell import CellProgress
from harness.cluster.launcher import launch_cell
from harness.cluster.ray_cluster import RayCluster, ray_cluster
from harness.cluster.spec import ClusterCellSpec
from harness.contract.records import DevicesRecord
from harness.study import StudyConfig
from reports.run import Cell
from reports.store import read_cell

TOY_FILE = Path(__file__).with_name("toy_benchmark.py")


@dataclass
class RunCell:
    """Runs one cell of the toy benchmark in a process of its own, as ``run`` does."""

    cluster: RayCluster
    root: Path
    numbers: Iterator[int]
    last_folder: Path = Path()

    def __call__(
        self,
        strategy: str = "random/fifo",
        *,
        benchmark: str = "toy",
        seconds: float = 8.0,
        slots: int = 1,
        workers: int = 2,
        seed: int = 0,
        max_same_failures: int = 0,
        max_trials: int | None = None,
        budget_epochs: float = 40.0,
        storage: str | None = None,
        strategy_files: Sequence[Path] = (),
        on_progress: Callable[[CellProgress], None] = lambda progress: None,
        **options: Any,
    ) -> Cell:
        folder = self.root / f"cell-{next(self.numbers)}"
        folder.mkdir()
        self.last_folder = folder
        devices = DevicesRecord(
            kind="CPU",
            model="test",
            slots=slots,
            workers_per_trial=workers,
            devices_per_worker=2.0 / (slots * workers),
        )
        study = StudyConfig(
            benchmark=benchmark,
            benchmark_options={"folder": str(folder), **options},
            benchmark_files=[TOY_FILE],
            strategy_files=list(strategy_files),
            max_same_failures=max_same_failures,
            max_trials=max_trials,
        )
        spec = ClusterCellSpec(
            strategy=strategy,
            seed=seed,
            study=study,
            dataset_path=None,
            dataset_source="generated",
            dataset_sha256="",
            devices=devices,
            budget_device_seconds=seconds * devices.held,
            budget_epochs=budget_epochs,
            ray_address=self.cluster.address,
            ships_code=False,
            storage=storage or str(folder / "storage"),
            name=folder.name,
        )
        log = folder / "log.txt"
        code = launch_cell(spec, folder, log, on_progress)
        assert code == 0, log.read_text()[-3000:]
        return read_cell(folder)


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    with ray_cluster(None, tmp_path_factory.mktemp("ray") / "run.log") as cluster:
        yield cluster


@pytest.fixture(scope="package")
def run_cell(cluster: RayCluster, tmp_path_factory: pytest.TempPathFactory) -> RunCell:
    return RunCell(cluster, tmp_path_factory.mktemp("cells"), itertools.count())
