"""Results per second of one core on the virtual clock, beside Syne Tune's simulator.

Everything that a cell does counts, its files too, from a benchmark and a strategy to ``cell.json``;
imports do not. Both simulators get the same learning curves (``speed_curve.py``), 8 trials at once
and, for ASHA, the stopping variant with the same rungs. Syne Tune needs an environment of its own:

    python -m venv syne
    syne/bin/pip install "syne-tune==0.16.*" "pandas<3" huggingface_hub

    python -m benchmarks.perf.virtual_speed [--syne-tune-python syne/bin/python]
        [--results 1000,10000,100000] [--strategies random/fifo,random/asha] [--patience 1800]

Rates are of CPU time, which other processes change less than wall-clock; the latter is beside it.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.perf import speed_curve as curve
from harness.cell import CellSpec
from harness.clock import MonotonicClock
from harness.contract import (
    Benchmark,
    Config,
    Dataset,
    DeviceKind,
    EpochCost,
    Session,
    Strategy,
    Worker,
)
from harness.contract.records import CellRecord, DevicesRecord
from harness.study import StudyConfig
from harness.virtual.cell import run_cell
from harness.virtual.costs import read_costs
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

ENVIRONMENT = (
    'python -m venv syne && syne/bin/pip install "syne-tune==0.16.*" "pandas<3" huggingface_hub'
)
ROOT = Path(__file__).parents[2]
REPEATS, REPEATED_UP_TO = 3, 10_000
"""Medians of three, but a single run where there are more results than that."""
GROWTH_FROM, GROWTH_TO = 10_000, 100_000


class Measured(NamedTuple):
    results: int
    cpu_seconds: float
    wall_seconds: float


class CurveSession(Session):
    """Its only state is the epoch."""

    def start(self, config: Config, seed: int) -> None:
        self._config, self._epoch = config, 0
        self._cost = EpochCost(curve.epoch_seconds(config["dropout"]))

    def train_epoch(self) -> Mapping[str, float]:
        self._epoch += 1
        return {}

    def evaluate(self) -> Mapping[str, float]:
        return {curve.METRIC: curve.score(**self._config, epoch=self._epoch)}

    def state(self) -> Mapping[str, Any]:
        return {"epoch": self._epoch}

    def load(self, state: Mapping[str, Any]) -> None:
        self._epoch = state["epoch"]

    def epoch_cost(self) -> EpochCost:
        return self._cost

    def scores_ahead(self, epochs: int) -> Sequence[float]:
        ahead = range(self._epoch + 1, self._epoch + epochs + 1)
        return [curve.score(**self._config, epoch=epoch) for epoch in ahead]


@dataclass(frozen=True)
class Curves(Benchmark):
    """``speed_curve.py`` as a benchmark."""

    name = "speed_curves"
    summary = "A cheap formula (for measurements)"
    metric = curve.METRIC
    mode = curve.MODE
    light_sessions = True
    max_epochs: int = curve.MAX_EPOCHS

    def space(self) -> dict[str, Domain]:
        from ray import tune

        return {
            "lr": tune.loguniform(*curve.LR_RANGE),
            "dropout": tune.uniform(*curve.DROPOUT_RANGE),
            "momentum": tune.uniform(*curve.MOMENTUM_RANGE),
        }

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        return curve.MEAN_EPOCH_SECONDS

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return CurveSession()


def run_ours(strategy: Strategy, results: int, folder: Path, *, is_fast: bool = True) -> CellRecord:
    """A cell whose budget is for about so many results, written to a folder."""
    benchmark, costs = Curves(), read_costs(None)
    per_result = curve.MEAN_EPOCH_SECONDS + costs.epoch_gap_seconds
    spec = CellSpec(
        strategy=strategy.name,
        seed=curve.SEED,
        study=StudyConfig(benchmark=benchmark.name, executor="virtual"),
        dataset_path=None,
        dataset_source="generated",
        dataset_sha256="",
        devices=DevicesRecord(
            kind="CPU", model="virtual", slots=curve.SLOTS, workers_per_trial=1,
            devices_per_worker=1.0,
        ),
        budget_device_seconds=results * per_result,
        budget_epochs=results * per_result / curve.MEAN_EPOCH_SECONDS,
    )  # fmt: skip
    record = run_cell(
        spec, strategy, benchmark, costs, folder, lambda progress: None, MonotonicClock(),
        is_fast=is_fast,
    )  # fmt: skip
    (folder / "cell.json").write_text(record.model_dump_json(indent=2) + "\n")
    return record


def measure_ours(strategy: str, results: int) -> Measured:
    gc.collect()
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        record = run_ours(STRATEGIES.get(strategy), results, Path(folder))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Measured(record.events - sum(record.trials.values()), cpu, wall)


def measure_syne_tune(
    python: Path, strategy: str, results: int, patience_s: float
) -> Measured | None:
    """In a process of its own, under Syne Tune's Python; ``None``: not done in so long."""
    command = [
        str(python.absolute()), "-m", "benchmarks.perf.syne_tune_speed", strategy.split("/")[1],
        str(results),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, cwd=ROOT, env={"SYNETUNE_FOLDER": folder}, stdout=subprocess.PIPE,
                check=True, timeout=patience_s,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def median(measure: Callable[[], Measured | None], results: int) -> Measured | None:
    """That of the median rate; ``None`` as soon as one is."""
    measured = []
    for _ in range(REPEATS if results <= REPEATED_UP_TO else 1):
        if (one := measure()) is None:
            return None
        measured.append(one)
    return sorted(measured, key=lambda one: one.results / one.cpu_seconds)[len(measured) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--syne-tune-python", type=Path)
    parser.add_argument("--results", default="1000,10000,100000")
    parser.add_argument("--strategies", default="random/fifo,random/asha")
    parser.add_argument("--patience", type=float, default=1800.0, help="seconds for Syne Tune")
    given = parser.parse_args()
    python: Path | None = given.syne_tune_python
    if python is None:
        print(f"Without --syne-tune-python: ours alone. Its environment: {ENVIRONMENT}")
    run_warm_up()
    print(
        "                        ours, results/s           Syne Tune, results/s\n"
        "strategy       results  of CPU time  of wall      results  of CPU time  of wall    ratio"
    )
    for strategy in given.strategies.split(","):
        cost: dict[int, float] = {}
        for results in map(int, given.results.split(",")):
            ours = median(partial(measure_ours, strategy, results), results)
            assert ours is not None
            cost[results] = ours.cpu_seconds / ours.results
            line = f"{strategy:13s} {_row(ours)}"
            if python is not None:
                theirs = median(
                    partial(measure_syne_tune, python, strategy, results, given.patience), results
                )
                line += "     " + _beside(theirs, ours, given.patience)
            print(line, flush=True)
        if GROWTH_FROM in cost and GROWTH_TO in cost:
            print(
                f"{strategy:13s} a result costs {cost[GROWTH_TO] / cost[GROWTH_FROM]:.2f} × at "
                f"{GROWTH_TO:,} results what it costs at {GROWTH_FROM:,}"
            )


def _beside(theirs: Measured | None, ours: Measured, patience_s: float) -> str:
    if theirs is None:
        return f"not done after {patience_s:.0f} s"
    ratio = (theirs.cpu_seconds / theirs.results) / (ours.cpu_seconds / ours.results)
    return f"{_row(theirs)}  {ratio:5.1f} ×"


def _row(measured: Measured) -> str:
    results, cpu, wall = measured
    return f"{results:8,d}  {results / cpu:11,.0f}  {results / wall:7,.0f}"


def run_warm_up() -> None:
    """Late imports and first calls."""
    for strategy in ("random/fifo", "random/asha"):
        measure_ours(strategy, 100)


if __name__ == "__main__":
    main()
