"""The cluster executor: cells one after another, each with all the devices there are."""

from __future__ import annotations

import contextlib
import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster.journal import reports_so_far
from harness.cluster.launcher import launch, launch_cell
from harness.cluster.ray_cluster import RayCluster, ray_cluster
from harness.cluster.reach import check_every_node_reaches
from harness.cluster.spec import ClusterCellSpec, ClusterRetrainSpec, JobDone
from harness.cluster.storage import REACHES_ALL, Storage, check_is_shared, open_storage
from harness.contract import Benchmark, UsageError
from harness.contract.records import CellRecord, DevicesRecord
from harness.decided import DecidedStudy
from harness.devices import decide_devices
from harness.executor import Outcomes, RetrainingDone, show_end
from harness.live import Display
from harness.retraining.job import RetrainJob
from harness.store import RunStore
from harness.study import StudyConfig
from reports.store import CELL_FILE, cell_slug, read_study, verify_cell

RETRAINING_LOG = "retraining.log"

MAX_VAIN_TRIES = 2
"""Of a cell: so many processes in a row may end early without an epoch more than those before."""


class ClusterExecutor:
    """An :class:`harness.executor.Executor` on real devices and real time."""

    cells_at_once = 1
    cell_overhead_seconds = 40.0
    """On a laptop: process and worker-group start, end."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster

    def decide_devices(self, config: StudyConfig, benchmark: Benchmark) -> DevicesRecord:
        devices = decide_devices(config, self._cluster.devices)
        if self._cluster.nodes > 1:
            if config.storage is None:
                raise UsageError(
                    f"the cluster has {self._cluster.nodes} nodes, and checkpoints would go into "
                    "the run folder of this one: give --storage a path on a disk that they share, "
                    f"or {REACHES_ALL}"
                )
            check_every_node_reaches(config.storage)
        return devices

    def study_fields(self) -> dict[str, Any]:
        return {"executor": "cluster"}

    def run(self, study: DecidedStudy, store: RunStore, shown: Display) -> Outcomes:
        outcomes: Outcomes = {}
        with contextlib.closing(_Places(study, store, self._cluster)) as places:
            for index, cell in enumerate(study.cells):
                before = store.finished(*cell)
                if isinstance(before, CellRecord):
                    shown.ended(index, before, kept=True)
                    outcomes[cell] = None
                    continue
                outcomes[cell] = self._run_cell(study, store, places, index, shown)
        return outcomes

    def retrain(
        self,
        study: DecidedStudy,
        store: RunStore,
        jobs: Sequence[RetrainJob],
        done: RetrainingDone,
    ) -> str | None:
        slots = min(study.devices.slots, len(jobs))
        fields = study.fields() | {"devices": study.devices.model_copy(update={"slots": slots})}
        log = store.folder / RETRAINING_LOG

        def on_line(line: str) -> None:
            said = JobDone.model_validate_json(line)
            done(said.job, said.retraining)

        with (
            contextlib.closing(_Places(study, store, self._cluster)) as places,
            places.once("retraining") as place,
        ):
            spec = ClusterRetrainSpec(**fields, **place, jobs=list(jobs))
            code = launch(["harness.cluster.retraining_process"], spec, log, on_line)
        return None if code == 0 else f"their process ended with exit code {code}; see {log}"

    def _run_cell(
        self, study: DecidedStudy, store: RunStore, places: _Places, index: int, shown: Display
    ) -> str | None:
        """Run a cell to its end. A process that is killed in the middle is followed by another, as
        long as one in a few gets further than those before it."""
        strategy, seed = study.cells[index]
        folder = store.cell(strategy, seed)
        log = folder / "log.txt"
        place = places.of_cell(strategy, seed)
        spec = ClusterCellSpec(**study.cell_fields(strategy, seed), **place.fields)
        shown.started(index)
        furthest = vain_tries = 0
        while True:
            reports = reports_so_far(folder)
            if reports is None or (folder / CELL_FILE).exists():
                store.fresh_cell(strategy, seed)
                place.clear()
                reports = 0
            vain_tries = 0 if reports > furthest else vain_tries + 1
            furthest = max(reports, furthest)
            code = launch_cell(spec, folder, log, lambda progress: shown.progress(index, progress))
            outcome = verify_cell(folder)
            if isinstance(outcome, CellRecord):
                place.clear()
                break
            if vain_tries == MAX_VAIN_TRIES:
                outcome = f"its process ended with exit code {code}; see {log}"
                break
        return show_end(shown, index, outcome)


@dataclass(frozen=True)
class _Place:
    """Where a process of a study runs, as the fields of a :class:`ClusterSpec`, and where it keeps
    its checkpoints."""

    fields: dict[str, Any]
    storage: Storage

    def clear(self) -> None:
        """Remove what processes left there. Not for them to do: nothing is left of one that was
        killed."""
        self.storage.delete()


class _Places:
    """The places of a study's processes."""

    def __init__(self, study: DecidedStudy, store: RunStore, cluster: RayCluster) -> None:
        self._cluster, self._run = cluster, store.folder
        self._default = store.folder.resolve() / "storage"
        self._place = study.config.storage or str(self._default)
        self._storage = open_storage(self._place)
        named = f"{self._run.resolve()} {read_study(self._run).created_at}"
        self._study = hashlib.sha256(named.encode()).hexdigest()[:8]

    def of_cell(self, strategy: str, seed: int) -> _Place:
        """A cell's: the same for every process that goes on with it, and no other study's."""
        return self._named(f"{cell_slug(strategy, seed)}-{self._study}")

    @contextlib.contextmanager
    def once(self, name: str) -> Iterator[dict[str, Any]]:
        """For one process alone."""
        place = self._named(f"{name}-{uuid.uuid4().hex[:8]}")
        try:
            yield place.fields
        finally:
            place.clear()

    def _named(self, name: str) -> _Place:
        # fsspec takes these for patterns, and would remove all that fits one.
        unique = re.sub(r"[*?\[\]]", "_", f"{self._run.name}-{name}")
        fields = {
            "ray_address": self._cluster.address,
            "ships_code": not self._cluster.is_ours,
            "storage": self._place,
            "name": unique,
        }
        return _Place(fields, self._storage.child(unique))

    def close(self) -> None:
        """The default place is empty again whenever nothing is running."""
        with contextlib.suppress(OSError):
            self._default.rmdir()


@contextlib.contextmanager
def cluster_executor(config: StudyConfig, log: Path) -> Iterator[ClusterExecutor]:
    """Connect to a cluster, or start one. Raises :class:`UsageError`."""
    check_is_shared(config.storage)
    with ray_cluster(config.address, log) as cluster:
        yield ClusterExecutor(cluster)
