"""Runs a virtual cell in this process, for the tests of the virtual executor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.cell import CellProgress, CellSpec
from harness.clock import Clock, MonotonicClock
from harness.contract import Benchmark, Strategy
from harness.contract.records import (
    CellRecord,
    DevicesRecord,
    EventLine,
    Report,
    TrialEnd,
    TrialStatus,
)
from harness.study import StudyConfig
from harness.virtual.cell import run_cell
from harness.virtual.costs import Costs
from strategies.registry import STRATEGIES

NO_COSTS = Costs(
    source="a test",
    setup_seconds=0.0,
    actor_start_seconds=0.0,
    actor_stop_seconds=0.0,
    reset_seconds=0.0,
    epoch_gap_seconds=0.0,
    save_seconds=0.0,
    restore_seconds=0.0,
    suggestion_seconds=0.0,
    pack_seconds=0.0,
    epoch_stretch=1.0,
)


def costs(**seconds: float) -> Costs:
    """Free, but for the fields given (``save=1.0`` sets ``save_seconds``)."""
    return NO_COSTS.model_copy(update={f"{name}_seconds": s for name, s in seconds.items()})


SOME_COSTS = costs(
    setup=30.0,
    actor_start=3.0,
    actor_stop=0.25,
    reset=0.04,
    epoch_gap=0.03,
    save=0.02,
    restore=0.01,
    suggestion=0.005,
    pack=0.008,
)


@dataclass(frozen=True)
class VirtualCell:
    record: CellRecord
    events: bytes
    state: bytes | None
    """Of the incumbent."""

    @property
    def lines(self) -> list[Report | TrialEnd]:
        return [EventLine.validate_json(line) for line in self.events.splitlines()]

    @property
    def lines_without_hindsight(self) -> list[Report | TrialEnd]:
        """Without what stopped trials would have come to."""
        return [
            line.model_copy(update={"unstopped": None}) if isinstance(line, TrialEnd) else line
            for line in self.lines
        ]

    @property
    def reports(self) -> list[Report]:
        return [line for line in self.lines if isinstance(line, Report)]

    def ends(self, status: TrialStatus | None = None, retried: bool = False) -> list[TrialEnd]:
        return [
            line
            for line in self.lines
            if isinstance(line, TrialEnd)
            and line.retried == retried
            and status in (None, line.status)
        ]

    def held_by(self, trial: int | None) -> dict[str, float]:
        """Device-seconds by kind that the ledger charges to a trial."""
        return {
            str(row.kind): row.device_seconds for row in self.record.ledger if row.trial == trial
        }


def make_spec(
    strategy: str,
    benchmark: Benchmark,
    *,
    slots: int = 4,
    workers: int = 1,
    seconds: float | None = None,
    trainings: float = 8.0,
    seed: int = 0,
    max_same_failures: int = 0,
    max_trials: int | None = None,
    charge_searcher: str = "fixed",
) -> CellSpec:
    """A cell whose budget lasts for so many ``seconds`` with all slots held, or pays for so many
    whole trainings."""
    devices = DevicesRecord(
        kind="CPU", model="virtual", slots=slots, workers_per_trial=workers, devices_per_worker=1.0
    )
    epoch = benchmark.epoch_device_seconds("CPU")
    budget = trainings * benchmark.max_epochs * epoch if seconds is None else seconds * devices.held
    fields: dict[str, Any] = {
        "benchmark": benchmark.name,
        "executor": "virtual",
        "max_same_failures": max_same_failures,
        "max_trials": max_trials,
        "charge_searcher": charge_searcher,
    }
    return CellSpec(
        strategy=strategy,
        seed=seed,
        study=StudyConfig.model_validate(fields),
        dataset_path=None,
        dataset_source="generated",
        dataset_sha256="",
        devices=devices,
        budget_device_seconds=budget,
        budget_epochs=budget / epoch,
    )


def run_virtual(
    strategy: Strategy | str,
    benchmark: Benchmark,
    *,
    costs: Costs = SOME_COSTS,
    is_fast: bool = True,
    real_clock: Clock | None = None,
    **settings: Any,
) -> VirtualCell:
    """Run a cell; ``settings`` as for :func:`make_spec`."""
    chosen = STRATEGIES.get(strategy) if isinstance(strategy, str) else strategy
    with TemporaryDirectory() as name:
        folder = Path(name)
        record = run_cell(
            make_spec(chosen.name, benchmark, **settings),
            chosen,
            benchmark,
            costs,
            folder,
            _ignore,
            real_clock or MonotonicClock(),
            is_fast=is_fast,
        )
        state = folder / "incumbent" / "state.pt"
        return VirtualCell(
            record,
            (folder / "events.jsonl").read_bytes(),
            state.read_bytes() if state.exists() else None,
        )


def _ignore(progress: CellProgress) -> None: ...
