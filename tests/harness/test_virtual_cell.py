"""Virtual cells in this process: time, the ledger, failures, checkpoints, searchers that end."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from benchmarks.analytic import ConditionalSpace, HartmannPowerLaw, NoisyQuadratic, SlowStarters
from harness.contract import Benchmark, Dataset, Plan, Problem, Session, Strategy, Worker
from harness.contract.records import InFlight, Parent, Report, Span
from harness.ledger import CellLedger
from harness.tuning.states import unpack_state
from harness.virtual.actor_manager import VirtualActorManager
from harness.virtual.clock import VirtualClock
from harness.virtual.seats import Seat, make_seats
from harness.virtual.trial_actor import Room, Slot
from strategies.fifo import fifo
from strategies.registry import STRATEGIES
from strategies.searchers import random_search
from tests.harness.virtual_cells import NO_COSTS, VirtualCell, costs, run_virtual
from tests.harness.virtual_strategy import Gives
from tests.harness.virtual_toys import (
    FAULTS,
    Clockwork,
    ClockworkMin,
    ClockworkWithoutCheckpoints,
    HeavyClockwork,
)

BENCHMARKS: list[Benchmark] = [
    NoisyQuadratic(max_epochs=9),
    HartmannPowerLaw(max_epochs=9),
    SlowStarters(max_epochs=9),
    ConditionalSpace(max_epochs=9),
    Clockwork(faults=",".join(FAULTS)),
    HeavyClockwork(faults="none,raise_once,nan"),
]


def assert_accounted(cell: VirtualCell) -> None:
    """What every cell promises, whatever happened in it."""
    record = cell.record
    ended_s = record.wall_seconds - record.setup_seconds
    assert record.held_device_seconds == pytest.approx(ended_s * record.devices, rel=1e-12)
    assert record.held_device_seconds <= record.budget_device_seconds * (1 + 1e-12)
    total = sum(row.device_seconds for row in record.ledger)
    assert total == pytest.approx(record.held_device_seconds, rel=1e-12)
    assert all(row.device_seconds > 0 for row in record.ledger)
    assert all(r.started_s < r.reported_s <= ended_s + 1e-9 for r in cell.reports)
    assert all(end.at_s <= ended_s + 1e-9 for end in cell.ends() + cell.ends(retried=True))
    epochs: defaultdict[int, list[int]] = defaultdict(list)
    slots: defaultdict[int, list[Report]] = defaultdict(list)
    for report in cell.reports:
        epochs[report.trial].append(report.epoch)
        slots[report.slot].append(report)
        lasted = sum(span.seconds for span in report.spans)
        assert lasted == pytest.approx(report.reported_s - report.started_s)
    for trial, seen in epochs.items():
        assert seen == list(range(1, len(seen) + 1)), f"trial {trial} skipped an epoch"
    for reports in slots.values():
        for before, after in itertools.pairwise(reports):
            assert before.reported_s <= after.started_s, "two epochs at once on a slot"
    times = [report.reported_s for report in cell.reports]
    assert times == sorted(times)
    final = [end.trial for end in cell.ends()]
    assert sorted(final) == list(range(len(final))), "each trial ends once"
    assert set(epochs) <= set(final)
    assert record.trials == {
        status: len(cell.ends(status)) for status in record.trials if cell.ends(status)
    }
    spent = {row.trial: 0.0 for row in record.ledger}
    for row in record.ledger:
        spent[row.trial] += row.device_seconds
    for flight in record.in_flight:
        assert flight.device_seconds <= spent[flight.trial]


@pytest.mark.parametrize(
    ("strategy", "benchmark_"),
    [
        (strategy, benchmark)
        for strategy in STRATEGIES.names()
        for benchmark in BENCHMARKS
        if strategy != "pbt" or benchmark.mutable
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_every_second_is_accounted_for(strategy: str, benchmark_: Benchmark) -> None:
    cell = run_virtual(strategy, benchmark_, slots=3, trainings=5.5, seed=3)
    assert_accounted(cell)
    assert cell.record.held_device_seconds == pytest.approx(cell.record.budget_device_seconds)
    assert len(cell.reports) > 10


def test_work_in_flight_is_charged_and_counted_for_nobody() -> None:
    cell = run_virtual("random/fifo", Clockwork(), slots=2, seconds=25.0, costs=NO_COSTS)
    assert_accounted(cell)
    assert [(r.trial, r.epoch, r.reported_s) for r in cell.reports] == [
        (0, 1, 12.0), (1, 1, 12.0), (0, 2, 22.0), (1, 2, 22.0),
    ]  # fmt: skip
    assert cell.record.in_flight == [
        InFlight(trial=0, epoch=3, device_seconds=3.0),
        InFlight(trial=1, epoch=3, device_seconds=3.0),
    ]
    assert cell.held_by(0) == {"restore": 2.0, "train": 19.0, "evaluate": 3.0, "checkpoint": 1.0}
    assert [(end.status, end.epoch, end.at_s) for end in cell.ends()] == [("cut", 2, 25.0)] * 2
    # At the very budget a report still counts, and then nothing is in flight.
    exact = run_virtual("random/fifo", Clockwork(), slots=2, seconds=22.0, costs=NO_COSTS)
    assert len(exact.reports) == 4 and not exact.record.in_flight


def test_no_epoch_fits() -> None:
    cell = run_virtual("random/fifo", Clockwork(), slots=2, seconds=11.0, costs=NO_COSTS)
    assert_accounted(cell)
    assert (cell.record.status, cell.record.reason) == ("failed", "no epoch fitted into the budget")
    assert cell.record.held_device_seconds == 22.0


def test_the_workers_of_a_trial_share_an_epochs_work() -> None:
    cell = run_virtual("random/fifo", Clockwork(), slots=1, workers=2, seconds=30, costs=NO_COSTS)
    assert_accounted(cell)
    assert [r.reported_s for r in cell.reports] == [6.0, 11.0, 16.0, 21.0, 26.0]
    assert cell.reports[0].trial_device_seconds == {
        "restore": 2.0, "train": 8.0, "evaluate": 1.5, "checkpoint": 0.5,
    }  # fmt: skip
    assert cell.reports[0].held_device_seconds == 12.0
    assert cell.reports[0].spans[0] == Span(kind="restore", seconds=1.0)


def test_the_same_cell_again() -> None:
    first = run_virtual("pbt", NoisyQuadratic(max_epochs=9), seed=5)
    other = run_virtual("optuna/asha", NoisyQuadratic(max_epochs=9), seed=6)
    again = run_virtual("pbt", NoisyQuadratic(max_epochs=9), seed=5)
    assert again == first != other
    assert run_virtual("pbt", NoisyQuadratic(max_epochs=9), seed=7) != first


# Failures ---------------------------------------------------------------------------------------


def test_a_session_that_raises_is_tried_again_then_failed() -> None:
    cell = run_virtual(
        "random/fifo", Clockwork(faults="raise"), slots=1, seconds=75, costs=NO_COSTS
    )
    assert_accounted(cell)
    for number, began_s in ((0, 0.0), (1, 32.0)):
        (report,) = [r for r in cell.reports if r.trial == number]
        assert (report.epoch, report.reported_s, report.decision) == (1, began_s + 12, "continue")
        (retried,) = [end for end in cell.ends(retried=True) if end.trial == number]
        (failed,) = [end for end in cell.ends("failed") if end.trial == number]
        assert (retried.attempt, retried.epoch, retried.at_s) == (0, 1, began_s + 22)
        assert (failed.attempt, failed.epoch, failed.at_s) == (1, 1, began_s + 32)
        assert (
            failed.reason == retried.reason == f"ValueError: x = {failed.config['x']} is too much"
        )
        # Its first epoch, and what two more are declared to take: where they failed, who knows.
        assert cell.held_by(number) == {
            "restore": 2.0, "train": 28.0, "evaluate": 1.5, "checkpoint": 0.5,
        }  # fmt: skip
    assert cell.record.in_flight == [InFlight(trial=2, epoch=1, device_seconds=11.0)]
    assert [end.trial for end in cell.ends("cut")] == [2]


def test_a_passing_failure_changes_times_and_nothing_else() -> None:
    settings: dict[str, Any] = {"slots": 1, "seconds": 280, "costs": NO_COSTS}
    cell = run_virtual("random/fifo", Clockwork(faults="raise_once"), **settings)
    sound = run_virtual("random/fifo", Clockwork(faults="none"), **settings)
    assert_accounted(cell)
    scores = [[(r.trial, r.epoch, r.validation_score) for r in c.reports] for c in (cell, sound)]
    assert len(scores[0]) > 20 and scores[0] == scores[1][: len(scores[0])]
    assert {(r.epoch > 1, r.attempt) for r in cell.reports} == {(False, 0), (True, 1)}
    assert {end.status for end in cell.ends()} == {"finished", "cut"}
    second = cell.reports[1]
    assert (second.started_s, second.reported_s) == (22.0, 32.0), "the attempt that succeeded"
    assert cell.reports[0].reported_s == 12.0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("strategy", ["optuna/fifo", "hyperopt/asha"])
def test_failures_are_told_as_the_worst_finite_score(strategy: str, sign: int) -> None:
    kind = Clockwork if sign > 0 else ClockworkMin
    cell = run_virtual(
        strategy, kind(faults="none,raise,nan,-inf,inf,no_metric", max_epochs=3), trainings=25
    )
    assert_accounted(cell)
    ended = cell.ends("failed") + cell.ends("diverged")
    assert {end.config["fault"] for end in ended} == {"raise", "nan", "-inf", "inf", "no_metric"}
    for end in ended:
        lines = cell.lines[: cell.lines.index(end) + 1]
        failed = {line.trial for line in lines if line in cell.ends("failed")}
        before = [
            sign * line.validation_score
            for line in lines
            if isinstance(line, Report)
            and math.isfinite(line.validation_score)
            and line.trial not in failed
        ]
        assert end.told_score == (sign * min(before) if before else None)


@pytest.mark.parametrize(("slots", "ended_s"), [(1, 96.0), (2, 64.0)])
def test_the_same_failure_three_times_in_a_row_ends_the_cell(slots: int, ended_s: float) -> None:
    cell = run_virtual(
        "random/fifo", Clockwork(faults="raise"), slots=slots, seconds=999, max_same_failures=3,
        costs=NO_COSTS,
    )  # fmt: skip
    assert_accounted(cell)
    assert cell.record.status == "failed"
    assert cell.record.reason.startswith("the same failure 3 times in a row: ValueError: x = ")
    assert len(cell.ends("failed")) == 3
    assert cell.record.held_device_seconds == slots * ended_s, "the rest is not spent"


def test_a_session_without_the_metric() -> None:
    cell = run_virtual("random/fifo", Clockwork(faults="no_metric"), slots=2)
    assert_accounted(cell)
    assert {end.reason for end in cell.ends("failed")} == {
        "the benchmark reported no 'score'; it reported loss, test, train_loss"
    }


@pytest.mark.parametrize("fault", ["nan", "inf", "-inf"])
def test_a_score_that_is_not_finite_diverges(fault: str) -> None:
    cell = run_virtual("random/asha", Clockwork(faults=f"none,{fault}"), slots=2)
    assert_accounted(cell)
    odd = [report for report in cell.reports if not math.isfinite(report.validation_score)]
    assert odd and all(r.decision == "diverged" and not r.is_incumbent for r in odd)
    assert {str(r.validation_score) for r in odd} == {str(float(fault))}
    assert [end.trial for end in cell.ends("diverged")] == [report.trial for report in odd]


def test_pbt_heals_what_diverged() -> None:
    """Of nine epochs, the second is both the faulty one and where members are compared."""
    cell = run_virtual("pbt", Clockwork(faults="none,nan,inf"), trainings=16, seed=1)
    assert_accounted(cell)
    odd = [report for report in cell.reports if not math.isfinite(report.validation_score)]
    assert len(odd) > 3 and {report.decision for report in odd} == {"pause"}
    healed = 0
    for report in odd:
        after = [r for r in cell.reports if (r.trial, r.epoch) == (report.trial, report.epoch + 1)]
        if after and after[0].parent is not None:
            assert math.isfinite(after[0].validation_score)
            healed += 1
    assert healed > 0
    assert not cell.ends("diverged")


@pytest.mark.parametrize("fault", ["nan_cost", "negative_cost", "no_cost"])
def test_an_epoch_cost_that_makes_no_sense(fault: str) -> None:
    cell = run_virtual("random/fifo", Clockwork(faults=fault), slots=1, seconds=40, costs=NO_COSTS)
    assert_accounted(cell)
    (end,) = cell.ends("failed")
    assert end.reason is not None and end.at_s == 32.0
    assert end.reason.startswith(
        "ValueError: epoch_cost() must give finite device-seconds above 0, not EpochCost("
    )


def test_an_epoch_that_costs_next_to_nothing_fails_its_trial() -> None:
    """Or the cell would train for ever at one moment."""
    cell = run_virtual("random/fifo", Clockwork(faults="tiny_cost"), slots=1, trainings=2)
    assert_accounted(cell)
    reasons = {end.reason for end in cell.ends("failed")}
    assert reasons == {
        "ValueError: epoch_cost() gives EpochCost(train=1e-09, evaluate=0.0, checkpoint=0.0, "
        "start=0.0, is_processor_time=False), less than 1e-06 of the 10 device-seconds that "
        "epoch_device_seconds() declares"
    }


def test_without_an_epoch_cost_what_is_declared_is_charged() -> None:
    cell = run_virtual(
        "random/fifo", Clockwork(faults="default_cost"), slots=1, seconds=40, costs=NO_COSTS
    )
    assert_accounted(cell)
    assert cell.reports[1].spans == [Span(kind="train", seconds=10.0)]


def test_processor_time_is_stretched_to_what_a_cluster_takes() -> None:
    """Only where the cost says that it is processor time: here, in every second epoch."""
    stretched = NO_COSTS.model_copy(update={"epoch_stretch": 1.25, "pack_seconds": 0.25})
    cell = run_virtual(
        "random/fifo", Clockwork(faults="processor_time"), slots=1, seconds=40, costs=stretched
    )
    assert_accounted(cell)
    spans = [[(span.kind, span.seconds) for span in report.spans] for report in cell.reports[:2]]
    assert spans[0][-3:] == [("train", 8.0), ("evaluate", 1.5), ("checkpoint", 0.5)]
    assert spans[1] == [("train", 10.0), ("evaluate", 1.875), ("checkpoint", 0.875)]


# Checkpoints ------------------------------------------------------------------------------------


def test_pbts_lineages_are_exact() -> None:
    """Every epoch trained again by hand, from the state that its report says it descends from."""
    benchmark, seed = NoisyQuadratic(max_epochs=9), 11
    cell = run_virtual("pbt", benchmark, slots=3, trainings=20, seed=seed)
    assert_accounted(cell)
    session = benchmark.session(Worker(), benchmark.find_data(None), 0)
    states: dict[tuple[int, int], Any] = {}
    for report in cell.reports:
        came_from = report.parent or Parent(trial=report.trial, epoch=report.epoch - 1)
        assert came_from.epoch == report.epoch - 1
        session.start(dict(report.config), seed)
        if report.epoch > 1:
            session.load(states[came_from.trial, came_from.epoch])
        metrics = {**session.train_epoch(), **session.evaluate()}
        states[report.trial, report.epoch] = session.state()
        ours = (report.train_loss, report.validation_score, report.test_score)
        by_hand = (metrics["train_loss"], metrics["validation_loss"], metrics["test_loss"])
        assert repr(ours) == repr(by_hand)
    inherited = [report for report in cell.reports if report.parent is not None]
    assert len(inherited) > 5
    by_epoch = {(r.trial, r.epoch): r for r in cell.reports}
    for report in inherited:
        assert report.parent is not None
        parent = by_epoch[report.parent.trial, report.parent.epoch]
        own = by_epoch[report.trial, report.epoch - 1]
        assert not own.validation_score <= parent.validation_score, "the weak copy the strong"


def test_a_paused_trial_goes_on_on_another_slot() -> None:
    cell = run_virtual("pbt", Clockwork(), slots=3, trainings=16)
    slots: defaultdict[int, set[int]] = defaultdict(set)
    for report in cell.reports:
        slots[report.trial].add(report.slot)
    assert any(len(seen) > 1 for seen in slots.values())


@pytest.mark.parametrize("strategy", STRATEGIES.names())
def test_sessions_that_take_turns_are_as_good_as_one_each(strategy: str) -> None:
    faults = "none,nan,raise_once,raise"
    light = run_virtual(strategy, Clockwork(faults=faults), trainings=12)
    heavy = run_virtual(strategy, HeavyClockwork(faults=faults), trainings=12)
    assert repr(light.lines_without_hindsight) == repr(heavy.lines)
    other = {"events_sha256"}
    assert light.record.model_dump(exclude=other) == heavy.record.model_dump(exclude=other)
    # A light session's state is not kept.
    assert light.state is None and heavy.state is not None
    assert heavy.record.incumbent is not None
    assert len(unpack_state(heavy.state)["trained"]) == heavy.record.incumbent.epoch


class _CountsSessions:
    built = 0

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        type(self).built += 1
        return super().session(worker, dataset, data_seed)  # type: ignore[misc, no-any-return]


@pytest.mark.parametrize(
    ("kind", "sessions"), [(Clockwork, 5), (HeavyClockwork, 1), (ClockworkWithoutCheckpoints, 5)]
)
def test_how_many_sessions_there_are(kind: type[Benchmark], sessions: int) -> None:
    class Counting(_CountsSessions, kind):  # type: ignore[misc, valid-type]
        pass

    benchmark = Counting()
    cell = run_virtual("random/asha", benchmark, slots=5, trainings=4)
    assert_accounted(cell)
    assert Counting.built == sessions


def test_a_heavy_sessions_state_is_copied_both_ways() -> None:
    class Live(Session):
        """Gives and takes its own weights themselves, as a careless session might."""

        def start(self, config: dict[str, Any], seed: int) -> None:
            self.weights = [0]

        def train_epoch(self) -> dict[str, float]:
            self.weights[0] += 1
            return {}

        def evaluate(self) -> dict[str, float]:
            return {}

        def state(self) -> dict[str, Any]:
            return {"weights": self.weights}

        def load(self, state: Any) -> None:
            self.weights = state["weights"]

    seat = Seat(Live(), is_light=False)
    seat.start("a", {}, 0, None)
    first = seat.snapshot()
    seat.session.train_epoch()
    assert first == {"weights": [0]} and seat.snapshot() == {"weights": [1]}
    seat.start("b", {}, 0, first)
    seat.session.train_epoch()
    assert first == {"weights": [0]}
    assert seat.has("b") and not seat.has("a")


def test_one_session_stands_on_every_seat() -> None:
    seats = make_seats(HeavyClockwork(), Dataset(None, "generated", ""), 0, slots=64)
    assert len(seats) == 64 and len({id(seat.session) for seat in seats}) == 1


# Costs ------------------------------------------------------------------------------------------


def strategy_of(build: Callable[[Problem], Plan], *, pauses: bool = False) -> Strategy:
    return Strategy(
        name="test/test", summary="of a test", searcher="test", scheduler="test", build=build,
        needs_checkpoints=pauses,
    )  # fmt: skip


class PausesEachTime(FIFOScheduler):
    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        return str(TrialScheduler.PAUSE)


def turns(alive: int) -> Strategy:
    """So many random trials take turns, an epoch each."""

    def build(problem: Problem) -> Plan:
        searcher, _ = random_search(problem, max_concurrent=alive)
        return Plan(searcher=searcher, scheduler=PausesEachTime())

    return strategy_of(build, pauses=True)


def spans(cell: VirtualCell) -> list[tuple[int, int, float, float]]:
    return [(r.trial, r.epoch, r.started_s, r.reported_s) for r in cell.reports]


def test_set_up_reset_and_gap() -> None:
    """The first actor starts before the clock does; one that ends a trial turns to the next."""
    cell = run_virtual(
        "random/fifo", Clockwork(max_epochs=2), slots=1, seconds=50.0,
        costs=costs(setup=30, actor_start=100, actor_stop=100, reset=3, epoch_gap=0.5),
    )  # fmt: skip
    assert_accounted(cell)
    assert spans(cell) == [
        (0, 1, 0.5, 12.5), (0, 2, 13.0, 23.0), (1, 1, 26.5, 38.5), (1, 2, 39.0, 49.0),
    ]  # fmt: skip
    assert (cell.record.setup_seconds, cell.record.wall_seconds) == (30.0, 80.0)
    # A gap within a trial is that trial's idle time; between trials nobody's, as at the end.
    assert [cell.held_by(trial)["idle"] for trial in (None, 0, 1)] == [0.5 + 3.5 + 1.0, 0.5, 0.5]


def test_save_and_restore() -> None:
    cell = run_virtual(
        turns(2), Clockwork(), slots=1, seconds=100.0,
        costs=costs(reset=3, epoch_gap=0.5, save=13, restore=17),
    )  # fmt: skip
    assert_accounted(cell)
    assert spans(cell) == [
        (0, 1, 0.5, 12.5),
        (1, 1, 12.5 + 13 + 3 + 0.5, 41.0),
        (0, 2, 41.0 + 13 + 3 + 17 + 0.5, 84.5),
    ]
    # On top of the toy's own 0.5 and 2 seconds an epoch and a start.
    assert cell.held_by(0) == {
        "restore": 2 + 17, "train": 16.0, "evaluate": 3.0, "checkpoint": 1.0 + 13.0,
    }  # fmt: skip
    assert cell.held_by(1)["checkpoint"] == 0.5 + 13.0
    assert cell.held_by(None) == {"idle": 0.5 + 3.5 + 3.5 + 15.5}


@pytest.mark.parametrize("alive", [1, 2])
def test_a_trial_is_tried_again_once_in_its_life(alive: int) -> None:
    """Also where it was paused, and its checkpoint restored, between its two failures."""
    cell = run_virtual(turns(alive), Clockwork(faults="raise_twice"), slots=1, trainings=3)
    assert_accounted(cell)
    for end in cell.ends("failed"):
        (retried,) = [other for other in cell.ends(retried=True) if other.trial == end.trial]
        assert (retried.epoch, retried.attempt) == (1, 0)
        assert (end.epoch, end.attempt, end.reason) == (2, 1, "ValueError: and again")
    assert len(cell.ends("failed")) > 1


class _Events:
    """An actor manager on two slots, without Tune, and what happened when."""

    def __init__(self, **seconds: float) -> None:
        self.clock, ledger = VirtualClock(), CellLedger()
        benchmark = Clockwork()
        room = Room(
            benchmark=benchmark,
            training_seed=0,
            devices_per_slot=1.0,
            fallback_epoch_device_seconds=10.0,
            costs=costs(**seconds),
            ledger=ledger,
        )
        seats = make_seats(benchmark, Dataset(None, "generated", ""), 0, slots=2)
        slots = [Slot(index, seat, ledger.open_slot()) for index, seat in enumerate(seats)]
        self.manager = VirtualActorManager(
            self.clock, slots, room, 1000.0, lambda saved: saved, lambda saved: saved
        )
        self.seen: list[tuple[float, str]] = []

    def add(self, trial: int) -> Any:
        config = {"x": 0.5, "fault": "none"}
        return self.manager.add(trial, config, self.note(f"{trial} on"), self.note(f"{trial} off"))

    def note(self, what: str) -> Callable[..., None]:
        return lambda *_: self.seen.append((self.clock.now(), what))

    def run(self) -> None:
        while not self.manager.is_over and self.manager.next():
            pass


def test_actors_start_and_stop() -> None:
    events = _Events(actor_start=7.0, actor_stop=11.0)
    first, _, third = events.add(0), events.add(1), events.add(2)
    assert (events.manager.num_live_actors, events.manager.num_pending_actors) == (2, 1)
    events.run()
    assert events.seen == [(0.0, "0 on"), (0.0, "1 on")], "these start during the set-up"
    events.manager.schedule_actor_task(first, "train", on_result=events.note("0 trained"))
    # It stops after what it does already; then the one that waits starts on its slot.
    assert events.manager.remove_actor(first)
    assert events.manager.is_actor_started(first) and not events.manager.is_actor_started(third)
    events.run()
    assert events.seen[2:] == [(12.0, "0 trained"), (23.0, "0 off"), (30.0, "2 on")]
    assert events.manager.is_actor_started(third)


def test_an_actor_that_still_waits_can_be_dropped() -> None:
    events = _Events()
    events.add(0), events.add(1)
    third = events.add(2)
    assert events.manager.remove_actor(third) is False
    events.run()
    assert events.seen == [(0.0, "0 on"), (0.0, "1 on")]
    assert events.manager.num_total_actors == 2


def test_nobody_hears_of_a_task_that_was_cleared_but_its_time_passes() -> None:
    events = _Events(actor_stop=1.0)
    first = events.add(0)
    events.run()
    events.manager.schedule_actor_task(first, "train", on_result=events.note("0 trained"))
    events.manager.clear_actor_task_futures(first)
    events.manager.remove_actor(first)
    events.run()
    assert events.seen == [(0.0, "0 on"), (13.0, "0 off")]


def test_an_actor_that_is_removed_before_it_started() -> None:
    events = _Events(actor_start=7.0)
    events.add(0), events.add(1)
    events.run()
    events.manager.schedule_actor_task(events.add(2), "train")
    assert events.seen == [(0.0, "0 on"), (0.0, "1 on")]


# Searchers --------------------------------------------------------------------------------------


def giving(count: int, what: Any) -> Strategy:
    return strategy_of(lambda problem: Plan(searcher=Gives(count, what), scheduler=fifo()))


@pytest.mark.parametrize("is_fast", [True, False])
def test_a_searcher_that_ends_early(is_fast: bool) -> None:
    cell = run_virtual(
        giving(3, Searcher.FINISHED), Clockwork(max_epochs=2), slots=2, seconds=100.0,
        costs=NO_COSTS, is_fast=is_fast,
    )  # fmt: skip
    assert_accounted(cell)
    assert len(cell.ends("finished")) == 3
    assert (cell.record.status, cell.record.reason) == (
        "completed", "the searcher ended after 44% of the budget",
    )  # fmt: skip
    assert cell.record.held_device_seconds == 2 * 44.0


@pytest.mark.parametrize("is_fast", [True, False])
def test_a_searcher_that_never_proposes_again_holds_its_devices_to_the_end(is_fast: bool) -> None:
    cell = run_virtual(
        giving(3, None), Clockwork(max_epochs=2), slots=2, seconds=100.0, costs=NO_COSTS,
        is_fast=is_fast,
    )  # fmt: skip
    assert_accounted(cell)
    assert len(cell.ends("finished")) == 3
    assert (cell.record.status, cell.record.reason) == ("completed", "the budget was spent")
    assert cell.record.held_device_seconds == 200.0
    assert cell.held_by(None) == {"idle": 56.0 + 78.0}


def test_a_searcher_that_never_proposes_anything() -> None:
    cell = run_virtual(giving(0, None), Clockwork(), slots=2, seconds=100.0)
    assert_accounted(cell)
    assert (cell.record.status, cell.record.reason) == ("failed", "the searcher proposed no trial")
    assert cell.held_by(None) == {"idle": 200.0}
    ended = run_virtual(giving(0, Searcher.FINISHED), Clockwork(), slots=2, seconds=100.0)
    assert_accounted(ended)
    assert ended.record.status == "failed"


def test_a_suggestion_keeps_the_loop_busy() -> None:
    """The first ones, before the clock runs, are made during the set-up."""
    settings: dict[str, Any] = {"seconds": 40.0, "costs": costs(suggestion=5.0)}
    one = run_virtual(giving(9, None), Clockwork(max_epochs=1), slots=1, **settings)
    assert_accounted(one)
    assert spans(one) == [(0, 1, 0.0, 12.0), (1, 1, 17.0, 29.0)]
    assert one.record.searcher_seconds == 5.0 * 3
    # Two reports at once: Tune asks for both next trials before it hears of anything else.
    two = run_virtual(giving(9, None), Clockwork(max_epochs=1), slots=2, **settings)
    assert_accounted(two)
    assert spans(two) == [
        (0, 1, 0.0, 12.0), (1, 1, 0.0, 12.0), (2, 1, 22.0, 34.0), (3, 1, 22.0, 34.0),
    ]  # fmt: skip


class Ticks:
    """A clock that a second passes on whenever somebody looks."""

    def __init__(self) -> None:
        self._ticks = itertools.count()

    def now(self) -> float:
        return float(next(self._ticks))


def test_a_searcher_charged_as_measured() -> None:
    """A call looks at the clock twice, so it takes a second: a report is told, then a trial
    suggested."""
    cell = run_virtual(
        giving(9, None), Clockwork(max_epochs=1), slots=1, seconds=39.0,
        costs=costs(suggestion=100.0), charge_searcher="measured", real_clock=Ticks(),
    )  # fmt: skip
    assert_accounted(cell)
    assert spans(cell) == [(0, 1, 0.0, 12.0), (1, 1, 14.0, 26.0)]
    # Three suggestions and two reports.
    assert cell.record.searcher_seconds == 5.0
