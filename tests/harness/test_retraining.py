"""Incumbents trained again: along their own configurations, with seeds of nobody's, once."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.analytic import NoisyQuadratic
from benchmarks.recorded.table import write_table
from benchmarks.registry import make_benchmark
from harness.clock import MonotonicClock
from harness.contract import Benchmark, Config, Dataset, Worker
from harness.contract.records import (
    DevicesRecord,
    Incumbent,
    Parent,
    Report,
    Retraining,
    RetrainRecord,
)
from harness.decided import DecidedStudy
from harness.executor import RetrainingDone
from harness.retraining.follow import follow
from harness.retraining.job import RetrainJob
from harness.retraining.plan import incumbent_path, plan_retraining
from harness.retraining.run import retrain_incumbents
from harness.retraining.seeds import FreshSeeds
from harness.store import RunStore
from harness.study import MAX_SEED, StudyConfig
from harness.virtual.retraining import batches, retrain
from reports.store import RETRAINED_FILE, cell_folder, read_cell
from strategies.registry import STRATEGIES
from tests.benchmarks.make_table import make_table
from tests.harness.virtual_cells import VirtualCell, run_virtual
from tests.harness.virtual_toys import Clockwork, HeavyClockwork
from tests.reports import make_run

NO_DATA = Dataset(None, "generated", "")

# Seeds ------------------------------------------------------------------------------------------


def test_fresh_seeds_are_counted_up_and_wrap_around() -> None:
    assert FreshSeeds([0, 7, 3]).first(3) == [8, 9, 10]
    assert FreshSeeds([1, MAX_SEED - 1, 0]).first(3) == [MAX_SEED, 2, 3]


@given(st.sets(st.integers(0, MAX_SEED) | st.integers(0, 9), min_size=1), st.integers(0, 20))
def test_more_fresh_seeds_only_add(used: set[int], count: int) -> None:
    fresh = FreshSeeds(used)
    seeds = fresh.first(count)
    assert len(set(seeds)) == count and not used & set(seeds)
    assert all(0 <= seed <= MAX_SEED for seed in seeds)
    assert fresh.first(count + 3)[:count] == seeds
    assert sorted(seeds, key=fresh.place) == seeds


# One retraining ---------------------------------------------------------------------------------


def job(*configs: Config, seed: int = 5) -> RetrainJob:
    return RetrainJob(cell=0, configs=list(configs), seed=seed, epoch_seconds=1.0)


def test_a_session_is_started_where_the_configuration_changes() -> None:
    calls: list[tuple[Any, bool]] = []

    def train_epoch(config: Config, must_start: bool) -> Mapping[str, float]:
        calls.append((config["x"], must_start))
        return {"score": float(len(calls)), "test": -float(len(calls))}

    done = follow(job({"x": 1}, {"x": 1}, {"x": 2}, {"x": 2}), Clockwork(), train_epoch)
    assert calls == [(1, True), (1, False), (2, True), (2, False)]
    assert done == Retraining(seed=5, validation_score=4.0, test_score=-4.0)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("ValueError: too much", "epoch 2 of 3: ValueError: too much"),
        ({"score": math.nan}, "epoch 2 of 3: diverged: a score of nan"),
        ({"score": -math.inf}, "epoch 2 of 3: diverged: a score of -inf"),
        ({"loss": 1.0}, "epoch 2 of 3: the benchmark reported no 'score'; it reported loss"),
    ],
)
def test_one_that_goes_wrong_says_why(outcome: Any, reason: str) -> None:
    outcomes = iter([{"score": 0.5}, outcome])
    done = follow(job(*[{"x": 1}] * 3), Clockwork(), lambda *_: next(outcomes))
    assert done == Retraining(seed=5, validation_score=None, test_score=None, reason=reason)


def test_what_a_session_raises_fails_its_retraining_alone() -> None:
    config = {"x": 0.5, "fault": "none"}
    jobs = [
        job(*[config | {"fault": fault}] * 3, seed=seed)
        for seed, fault in enumerate(("none", "raise", "nan", "none"))
    ]
    done = retrain(jobs, Clockwork(), NO_DATA, 0)
    assert [retraining.seed for retraining in done] == [0, 1, 2, 3]
    assert [retraining.reason for retraining in done] == [
        None,
        "epoch 2 of 3: ValueError: x = 0.5 is too much",
        "epoch 2 of 3: diverged: a score of nan",
        None,
    ]
    assert done[0].validation_score != done[3].validation_score, "the seed makes a difference"


def test_light_sessions_are_retrained_cell_by_cell() -> None:
    jobs = [job(seed=seed).model_copy(update={"cell": cell}) for seed in (5, 6) for cell in (0, 1)]
    assert batches(jobs, Clockwork()) == [[0, 2], [1, 3]]
    assert batches(jobs, HeavyClockwork()) == [[0], [1], [2], [3]]


# The cell's own seed gives the cell's own scores ------------------------------------------------


def replayed(cell: VirtualCell, benchmark: Benchmark, seed: int) -> list[tuple[Report, Retraining]]:
    """Every incumbent that a cell ever had, trained again with the cell's own seed."""
    bests = [report for report in cell.reports if report.is_incumbent]
    jobs = [
        job(
            *[
                report.config
                for report in incumbent_path(
                    cell.reports,
                    Incumbent.model_validate(best.model_dump(include=set(Incumbent.model_fields))),
                )
            ],
            seed=seed,
        )
        for best in bests
    ]
    done = retrain(jobs, benchmark, benchmark.find_data(None), 0)
    assert len({len(job.configs) for job in jobs}) > 1 and bests
    return list(zip(bests, done, strict=True))


def assert_the_same(pairs: list[tuple[Report, Retraining]]) -> None:
    for best, retraining in pairs:
        assert retraining.reason is None
        assert retraining.validation_score == best.validation_score
        assert retraining.test_score == best.test_score


@pytest.mark.parametrize("strategy", ["random/fifo", "optuna/asha"])
@pytest.mark.parametrize("benchmark", [NoisyQuadratic(max_epochs=9), HeavyClockwork()])
def test_one_configuration_from_start_to_end(strategy: str, benchmark: Benchmark) -> None:
    for seed in range(2):
        cell = run_virtual(strategy, benchmark, seed=seed, trainings=6)
        assert_the_same(replayed(cell, benchmark, seed))


def test_along_a_recorded_table(tmp_path: Path) -> None:
    write_table(make_table(), tmp_path / "table.parquet")
    benchmark = make_benchmark("recorded_table", {"table": str(tmp_path / "table.parquet")})
    benchmark.session(Worker(), benchmark.find_data(None), 0)  # keeps what it read
    cell = run_virtual("random/asha", benchmark, seed=1, trainings=6)
    assert_the_same(replayed(cell, benchmark, 1))


@pytest.mark.parametrize("benchmark", [NoisyQuadratic(max_epochs=9), HeavyClockwork()])
def test_pbts_configurations_bit_for_bit(benchmark: Benchmark) -> None:
    changed = 0
    for seed in range(4):
        cell = run_virtual("pbt", benchmark, seed=seed, trainings=12)
        assert_the_same(replayed(cell, benchmark, seed))
        assert cell.record.incumbent is not None
        path = incumbent_path(cell.reports, cell.record.incumbent)
        changed += any(report.config != path[0].config for report in path)
    assert changed, "no incumbent whose configuration changed on its way"


def test_a_trial_that_goes_back_and_trains_the_incumbents_epoch_again() -> None:
    reports = [
        make_run.report(0, 1, 0.1, 1),
        make_run.report(1, 1, 0.2, 2),
        make_run.report(0, 2, 0.9, 3, config={"lr": 1.0}, is_incumbent=True),
        make_run.report(0, 2, 0.3, 5, config={"lr": 2.0}, parent=Parent(trial=1, epoch=1)),
    ]
    best = Incumbent.model_validate(reports[2].model_dump(include=set(Incumbent.model_fields)))
    assert incumbent_path(reports, best) == [reports[0], reports[2]]


# A study's retrainings --------------------------------------------------------------------------


class FakeExecutor:
    """Trains nothing: a score is the seed. Jobs are done last one first, as many as it is told."""

    def __init__(self, until: Callable[[int], None] = lambda count: None) -> None:
        self._until = until
        self.jobs: list[RetrainJob] = []

    def retrain(
        self,
        study: DecidedStudy,
        store: RunStore,
        jobs: Sequence[RetrainJob],
        done: RetrainingDone,
    ) -> str | None:
        self.jobs = list(jobs)
        for count, index in enumerate(reversed(range(len(jobs)))):
            try:
                self._until(count)
            except StopIteration:
                return "their process is no more"
            done(index, scored(jobs[index].seed))
        return None


def scored(seed: int) -> Retraining:
    return Retraining(seed=seed, validation_score=float(seed), test_score=None)


STRATEGY_NAMES = ["random/fifo", "pbt"]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Of two strategies × seeds 0 and 1: three cells are finished, one of them without incumbent;
    PBT's goes through another trial."""
    path = [
        make_run.report(1, 1, 0.2, 1.5),
        make_run.report(0, 1, 0.1, 2.0),
        make_run.report(0, 2, 0.5, 4.0, parent=Parent(trial=1, epoch=1), is_incumbent=True),
    ]
    write_finished(tmp_path, "random/fifo", 0, [make_run.report(3, 1, 0.4, 2.5, is_incumbent=True)])
    write_finished(tmp_path, "pbt", 0, path)
    write_finished(tmp_path, "random/fifo", 1, [])
    return RunStore(tmp_path)


def write_finished(run: Path, strategy: str, seed: int, reports: list[Report]) -> Path:
    best = next((report for report in reports if report.is_incumbent), None)
    incumbent = best and Incumbent.model_validate(
        best.model_dump(include=set(Incumbent.model_fields))
    )
    return make_run.write_cell(run, make_run.cell(strategy, seed, incumbent=incumbent), reports)


def study(retrain: int) -> DecidedStudy:
    config = StudyConfig(strategies=STRATEGY_NAMES, seeds=[0, 1], retrain=retrain)
    devices = DevicesRecord(
        kind="CPU", model="test", slots=2, workers_per_trial=1, devices_per_worker=1.0
    )
    strategies = [STRATEGIES.get(name) for name in STRATEGY_NAMES]
    return DecidedStudy(config, Clockwork(), NO_DATA, strategies, devices, 100.0)


def run(store: RunStore, count: int, executor: Any) -> str:
    """Retrain; returns what the console shows."""
    console = Console(file=io.StringIO(), width=100)
    retrain_incumbents(study(count), executor, store, console, MonotonicClock())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def files(store: RunStore) -> dict[str, RetrainRecord]:
    return {
        path.parent.name: RetrainRecord.model_validate_json(path.read_bytes())
        for path in store.folder.glob(f"cells/*/{RETRAINED_FILE}")
    }


def retrained_seeds(store: RunStore) -> dict[str, list[int]]:
    return {
        name: [retraining.seed for retraining in record.retrainings]
        for name, record in files(store).items()
    }


def test_what_is_trained(store: RunStore) -> None:
    plan = plan_retraining(study(2), store)
    assert not plan.problems
    assert [(job.cell, job.seed) for job in plan.jobs] == [(0, 2), (1, 2), (0, 3), (1, 3)]
    assert plan.jobs[0].configs == [{"lr": 0.01 * 4}]
    # Trial 1's first epoch, and then trial 0's.
    assert plan.jobs[1].configs == [{"lr": 0.01 * 2}, {"lr": 0.01}]
    assert plan.jobs[0].epoch_seconds == 1.0


def test_nothing_is_retrained_unless_asked_for(store: RunStore) -> None:
    assert run(store, 0, FakeExecutor()) == ""
    assert files(store) == {}


def test_every_incumbent_gets_its_file(store: RunStore) -> None:
    said = run(store, 2, FakeExecutor())
    assert files(store) == {
        "random-fifo--seed-0": RetrainRecord(
            trial=3, epoch=1, retrainings=[scored(2), scored(3)]
        ),
        "pbt--seed-0": RetrainRecord(trial=0, epoch=2, retrainings=[scored(2), scored(3)]),
    }  # fmt: skip
    assert "retraining 2 incumbent(s) with 2 fresh seed(s), outside the budget: 4 training" in said
    assert "retraining 4 of 4: random/fifo seed 0, with seed 2: validation 2.0000; about" in said
    assert read_cell(cell_folder(store.folder, "pbt", 0)).retrained is not None


def test_more_only_adds_and_fewer_keeps(store: RunStore) -> None:
    run(store, 1, FakeExecutor())
    executor = FakeExecutor()
    said = run(store, 3, executor)
    assert [(job.cell, job.seed) for job in executor.jobs] == [(0, 3), (1, 3), (0, 4), (1, 4)]
    assert "4 training(s); 2 are kept from before" in said
    assert set(map(tuple, retrained_seeds(store).values())) == {(2, 3, 4)}
    before = files(store)
    executor = FakeExecutor()
    assert "0 training(s); 4 are kept from before" in run(store, 2, executor)
    assert executor.jobs == [] and files(store) == before


def test_an_interruption_keeps_what_is_done(store: RunStore) -> None:
    def interrupted(count: int) -> None:
        if count == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store, 2, FakeExecutor(interrupted))
    assert retrained_seeds(store) == {"random-fifo--seed-0": [3], "pbt--seed-0": [2, 3]}
    executor = FakeExecutor()
    run(store, 2, executor)
    assert [(job.cell, job.seed) for job in executor.jobs] == [(0, 2)]
    assert retrained_seeds(store) == {"random-fifo--seed-0": [2, 3], "pbt--seed-0": [2, 3]}


def test_an_executor_that_cannot_go_on_does_not_fail_the_study(store: RunStore) -> None:
    def stopped(count: int) -> None:
        if count == 1:
            raise StopIteration

    said = run(store, 1, FakeExecutor(stopped))
    assert "not retrained: 1 of 2: their process is no more" in said
    assert retrained_seeds(store) == {"pbt--seed-0": [2]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"format_version": 1',
        RetrainRecord(trial=8, epoch=2, retrainings=[scored(2)]).model_dump_json().encode(),
    ],
    ids=["empty", "truncated", "another incumbent's"],
)
def test_a_file_that_is_not_the_incumbents_is_made_anew(store: RunStore, content: bytes) -> None:
    file = cell_folder(store.folder, "pbt", 0) / RETRAINED_FILE
    file.write_bytes(content)
    executor = FakeExecutor()
    run(store, 1, executor)
    assert [(job.cell, job.seed) for job in executor.jobs] == [(0, 2), (1, 2)]
    assert retrained_seeds(store)["pbt--seed-0"] == [2]


def test_a_cell_that_is_run_again_loses_its_retrainings(store: RunStore) -> None:
    run(store, 1, FakeExecutor())
    folder = store.fresh_cell("pbt", 0)
    assert not (folder / RETRAINED_FILE).exists()
    assert (folder / "earlier" / "1" / RETRAINED_FILE).exists()
    write_finished(store.folder, "pbt", 0, [make_run.report(0, 1, 0.9, 2.0, is_incumbent=True)])
    executor = FakeExecutor()
    run(store, 1, executor)
    assert [(job.cell, job.seed) for job in executor.jobs] == [(1, 2)]
    assert files(store)["pbt--seed-0"].epoch == 1


def test_a_way_that_cannot_be_read_is_told(store: RunStore) -> None:
    lost = make_run.report(0, 2, 0.5, 4.0, is_incumbent=True)
    write_finished(store.folder, "pbt", 0, [lost])
    said = run(store, 1, FakeExecutor())
    assert "cannot be retrained: pbt seed 0: an epoch on the way" in said
    assert set(files(store)) == {"random-fifo--seed-0"}


def test_a_terminal_gets_one_line_in_place(store: RunStore) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    retrain_incumbents(study(1), FakeExecutor(), store, console, MonotonicClock())  # type: ignore[arg-type]
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    for part in ("retraining 0 of 2", "retraining 1 of 2: pbt seed 0, with", "retraining 2 of 2"):
        assert part in said
