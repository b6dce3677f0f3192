"""The cluster executor: cells one after another, each with all the devices there are."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.cluster.launcher import launch_cell
from harness.cluster.ray_cluster import RayCluster, ray_cluster
from harness.cluster.spec import ClusterCellSpec
from harness.cluster.storage import Storage, is_local, open_storage
from harness.contract import Benchmark, UsageError
from harness.contract.records import CellRecord, DevicesRecord
from harness.decided import DecidedStudy
from harness.devices import decide_devices
from harness.executor import Outcomes, show_end
from harness.live import Display
from harness.store import RunStore
from harness.study import StudyConfig
from reports.store import cell_slug, verify_cell


class ClusterExecutor:
    """An :class:`harness.executor.Executor` on real devices and real time."""

    cells_at_once = 1
    cell_overhead_seconds = 40.0
    """On a laptop: process and worker-group start, end."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster

    def decide_devices(self, config: StudyConfig, benchmark: Benchmark) -> DevicesRecord:
        if self._cluster.nodes > 1 and is_local(config.storage):
            raise UsageError(
                f"the cluster has {self._cluster.nodes} nodes, but --storage is "
                f"{config.storage or 'the run folder'}, a disk of this node alone: give --storage "
                "an fsspec URL that every node reaches (s3://…, gs://…)"
            )
        return decide_devices(config, self._cluster.devices)

    def study_fields(self) -> dict[str, Any]:
        return {"executor": "cluster"}

    def run(self, study: DecidedStudy, store: RunStore, shown: Display) -> Outcomes:
        default = store.folder.resolve() / "storage"
        place = study.config.storage or str(default)
        storage = open_storage(place)
        outcomes: Outcomes = {}
        try:
            for index, cell in enumerate(study.cells):
                before = store.finished(*cell)
                if isinstance(before, CellRecord):
                    shown.ended(index, before, kept=True)
                    outcomes[cell] = None
                    continue
                outcomes[cell] = self._run_cell(study, store, storage, place, index, shown)
        finally:
            # Empty again whenever no cell is running.
            with contextlib.suppress(OSError):
                default.rmdir()
        return outcomes

    def _run_cell(
        self,
        study: DecidedStudy,
        store: RunStore,
        storage: Storage,
        place: str,
        index: int,
        shown: Display,
    ) -> str | None:
        strategy, seed = study.cells[index]
        folder = store.fresh_cell(strategy, seed)
        log = folder / "log.txt"
        shown.started(index)
        spec = ClusterCellSpec(
            **study.cell_fields(strategy, seed),
            ray_address=self._cluster.address,
            ships_code=not self._cluster.is_ours,
            storage=place,
            name=f"{store.folder.name}-{cell_slug(strategy, seed)}-{uuid.uuid4().hex[:8]}",
        )
        try:
            code = launch_cell(spec, folder, log, lambda progress: shown.progress(index, progress))
        finally:
            # Here, not in the cell's process, so that nothing is left of one that was killed.
            storage.child(spec.name).delete()
        outcome = verify_cell(folder)
        if isinstance(outcome, str):
            outcome = f"its process ended with exit code {code}; see {log}"
        return show_end(shown, index, outcome)


@contextlib.contextmanager
def cluster_executor(config: StudyConfig, log: Path) -> Iterator[ClusterExecutor]:
    """Connect to a cluster, or start one. Raises :class:`UsageError`."""
    with ray_cluster(config.address, log) as cluster:
        yield ClusterExecutor(cluster)
