"""What a cell's processes leave behind for those that go on with it."""

from __future__ import annotations

import asyncio
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analytic.noisy_quadratic import NoisyQuadratic
from harness.clock import MonotonicClock
from harness.cluster import journal
from harness.cluster.cell import REPLAY_PATIENCE_S, Watch
from harness.cluster.cell_process import why_not_gone_on_with
from harness.cluster.journal import (
    ActorDied,
    Begun,
    Failed,
    Held,
    Journal,
    JournalBusyError,
    JournalError,
    Line,
    Reported,
    Saved,
    Suggested,
    heard,
    note_stumble,
    reports_so_far,
    restore_ledger,
)
from harness.cluster.messages import Progress
from harness.cluster.pool import Past, WorkerPool
from harness.cluster.replay import Replay
from harness.cluster.states import TrialStates
from harness.cluster.storage import Storage
from harness.cluster.train_spec import TrainRunSpec
from harness.cluster.trial_actor import TrialActor
from harness.cluster.turns import Turn, Turns
from harness.contract import Dataset
from harness.contract.files import append_whole
from harness.contract.records import EventLine, Parent, TrialEnd
from harness.ledger import CellLedger, Charge, NotedAccount, SlotLedger
from harness.tuning.cell_tuning import CellTuning
from harness.tuning.event_log import EventLog, OtherHistoryError
from harness.tuning.names import trial_name
from harness.tuning.results import EXTRA, FAILED, Failure
from harness.tuning.searcher import MeasuredTime
from strategies.registry import STRATEGIES
from tests.harness.virtual_cells import make_spec

FAILURE = Failure("ValueError: x", "a log\nof two lines", 1.5)


def reported(
    trial: int, at_s: float, slot: int = 0, charges: list[Charge] | None = None
) -> Reported:
    return Reported(
        trial=trial,
        epoch=1,
        metrics={"score": math.nan, "loss": math.inf},
        spans=[("train", 1.0)],
        slot=slot,
        started_s=at_s - 1.0,
        reported_s=at_s,
        trial_seconds={"train": 1.0},
        parent=Parent(trial=7, epoch=3),
        failures=[FAILURE],
        charges=charges or [],
    )


HEARD = [
    Suggested(tune_id="00000000"),
    reported(0, 2.0),
    Saved(trial=0),
    ActorDied(tune_id="00000000", failure=FAILURE),
    Failed(trial=0, failures=[FAILURE, FAILURE]),
]


def begin(folder: Path) -> Journal:
    """As the next process does."""
    return Journal(folder)


def test_what_was_heard_is_there_for_the_next_process(tmp_path: Path) -> None:
    first = begin(tmp_path)
    assert first.past == [] and first.before == Held()
    for line in HEARD:
        first.append(line)
    first.tick(Held(held_s=2.5, wall_seconds=9.0, setup_seconds=6.0))
    first.tick(Held(held_s=3.25, wall_seconds=9.5, setup_seconds=6.0))
    first.close()
    second = begin(tmp_path)
    assert repr(second.past) == repr([Begun(at_s=0.0), *HEARD])
    assert repr(heard(second.past)) == repr(HEARD)
    assert second.before == Held(held_s=3.25, wall_seconds=9.5, setup_seconds=6.0)
    second.close()
    third = begin(tmp_path)
    assert third.past[-1] == Begun(at_s=3.25)
    third.close()


def test_a_line_that_a_kill_cut_off_was_never_heard(tmp_path: Path) -> None:
    first = begin(tmp_path)
    first.append(reported(0, 2.0))
    first.close()
    path = tmp_path / journal.JOURNAL_FILE
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"reported","trial":0,"epo')
    second = begin(tmp_path)
    assert len(second.past) == 2
    second.close()
    assert path.read_bytes() == whole + b'{"type":"begun","at_s":2.0}\n'


def test_nothing_to_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / journal.JOURNAL_FILE
    assert reports_so_far(tmp_path) is None
    path.touch()
    assert reports_so_far(tmp_path) is None
    begun = begin(tmp_path)
    assert reports_so_far(tmp_path) is None, "a process that began has reported nothing"
    begun.tick(Held(held_s=3000.0))
    assert reports_so_far(tmp_path) == 0, "most of an hour in its first epoch is not forgotten"
    begun.append(reported(0, 2.0))
    begun.close()
    assert reports_so_far(tmp_path) == 1
    (tmp_path / journal.NOT_GONE_ON_FILE).write_text("another history\n")
    assert reports_so_far(tmp_path) is None
    path.write_text("not a journal\n")
    with pytest.raises(JournalError, match=r"journal\.jsonl cannot be read"):
        begin(tmp_path)


def test_a_clock_that_cannot_be_read_is_made_up_for_by_the_reports(tmp_path: Path) -> None:
    first = begin(tmp_path)
    first.append(reported(0, 2.0))
    first.close()
    (tmp_path / journal.HELD_FILE).write_text("")
    second = begin(tmp_path)
    assert second.before.held_s == 2.0
    second.close()


def test_two_processes_do_not_write_one_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LOCK_TIMEOUT_S", 0.1)
    first = begin(tmp_path)
    with pytest.raises(JournalBusyError, match="another process") as caught:
        begin(tmp_path)
    assert why_not_gone_on_with(caught.value) is None, "its past is not thrown away"
    first.close()


def restored(lines: list[Line], slots: int, held_s: float) -> CellLedger:
    ledger = CellLedger()
    slot_ledgers = [SlotLedger(NotedAccount(ledger)) for _ in range(slots)]
    restore_ledger(lines, slot_ledgers, ledger, held_s)
    return ledger


def test_an_epoch_that_tune_never_heard_of_is_lost() -> None:
    """Its charges went with the actor that should have told of it."""
    lines: list[Line] = [Begun(at_s=0.0), reported(0, 5.0, 0, [Charge(0, "train", 2.0)])]
    charges = {(t, k): s for t, k, s in restored(lines, 1, 5.0).charges()}
    assert charges == pytest.approx({(None, "lost"): 3.0, (0, "train"): 2.0}, abs=1e-5)


def test_what_was_under_way_is_lost() -> None:
    lines: list[Line] = [
        Begun(at_s=0.0),
        reported(0, 2.0, 0, [Charge(None, "idle", 0.5), Charge(0, "train", 1.5)]),
        Begun(at_s=3.0),
        reported(0, 5.0, 0, [Charge(0, "train", 2.0)]),
        reported(1, 7.0, 1, [Charge(1, "train", 4.0)]),
    ]
    ledger = restored(lines, 2, 8.0)
    assert {(t, k): s for t, k, s in ledger.charges()} == {
        (None, "idle"): 0.5,
        (0, "train"): 3.5,
        (1, "train"): 4.0,
        # Slot 0 from 2 to 3 and from 5 to 8, slot 1 from 0 to 3 and from 7 to 8.
        (None, "lost"): 1.0 + 3.0 + 3.0 + 1.0,
    }


@given(st.data())
def test_no_second_is_lost_or_counted_twice(data: st.DataObject) -> None:
    slots = data.draw(st.integers(1, 3))
    until = [0.0] * slots
    lines: list[Line] = [Begun(at_s=0.0)]
    for _ in range(data.draw(st.integers(0, 12))):
        slot = data.draw(st.integers(0, slots - 1))
        if data.draw(st.booleans()):
            seconds = data.draw(st.floats(0.1, 5.0))
            until[slot] += seconds
            lines.append(reported(0, until[slot], slot, [Charge(0, "train", seconds)]))
        else:
            at_s = max(until) + data.draw(st.floats(0.0, 2.0))
            lines.append(Begun(at_s=at_s))
            until = [at_s] * slots
    held_s = max(until) + 1.0
    total = sum(charge.seconds for charge in restored(lines, slots, held_s).charges())
    assert total == pytest.approx(slots * held_s)


def test_a_disk_that_gets_full_in_the_middle_of_a_line(tmp_path: Path) -> None:
    class Filling(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(data[:9])

    path = tmp_path / "lines"
    path.write_bytes(b"a whole line\n")
    with Filling(path, "ab") as file, pytest.raises(OSError, match="No space left"):
        append_whole(file, b"another line\n")  # type: ignore[arg-type]
    assert path.read_bytes() == b"a whole line\n"


def test_what_ended_a_process_is_written_down_without_secrets(tmp_path: Path) -> None:
    note_stumble(tmp_path, 7, ValueError("no access to s3://me:hunter2@bucket"))
    assert "hunter2" not in (tmp_path / journal.STUMBLED_FILE).read_text()


def watch(pool: Any, replay: Any, recorder: Any) -> Watch:
    return Watch(
        spec=SimpleNamespace(budget_seconds=60.0),
        recorder=recorder,
        replay=replay,
        journal=SimpleNamespace(before=Held()),
        pool=pool,
        opening=None,
        report=lambda progress: None,
        clock=MonotonicClock(),
        started=math.inf,
        patience_s=1.0,
    )  # type: ignore[arg-type]


def test_a_slow_start_is_no_silence_of_the_past() -> None:
    """However long ago its process began, the past is waited for from the first look on; and a
    process that comes no further does not throw it away."""
    pool = SimpleNamespace(is_alive=Remote(lambda: None))
    it = watch(pool, SimpleNamespace(is_over=False, heard=3), recorder=None)
    it._watch_replay(1000.0)
    it._watch_replay(1000.0 + REPLAY_PATIENCE_S)
    with pytest.raises(TimeoutError, match="after 3 lines") as caught:
        it._watch_replay(1001.0 + REPLAY_PATIENCE_S)
    assert why_not_gone_on_with(caught.value) is None


def test_a_cell_that_is_over_in_its_past_has_what_that_held(tmp_path: Path) -> None:
    """Its limit was reached just before the kill: it ends before any group is ready."""
    train = TrainRunSpec(
        benchmark=NoisyQuadratic(),
        dataset=Dataset(None, "generated", ""),
        data_seed=0,
        workers=1,
        device_kind="CPU",
        devices_per_worker=1.0,
        storage=Storage(str(tmp_path)),
    )
    lines: list[Line] = [Begun(at_s=0.0), reported(0, 5.0, 0, [Charge(0, "train", 5.0)])]
    pool = WorkerPool(2, train, Past(lines, held_s=8.0))
    account = asyncio.run(pool.close())
    assert account.ended_s == 8.0 and account.in_flight == []
    charges = {(t, k): s for t, k, s in account.charges}
    assert charges == pytest.approx({(0, "train"): 5.0, (None, "lost"): 3.0 + 8.0}, abs=1e-5)
    assert asyncio.run(pool.close()) is account


def test_a_cell_ends_the_moment_that_its_end_is_decided() -> None:
    """Tune would wait ten seconds for what is under way, and the devices be billed."""
    closed: list[None] = []
    recorder = SimpleNamespace(saw_cut=False, stop_reason=None, stuck=None)
    pool = SimpleNamespace(is_alive=Remote(lambda: None), close=Remote(lambda: closed.append(None)))
    it = watch(pool, SimpleNamespace(is_over=True, heard=0), recorder)
    it._opened = MonotonicClock().now()
    assert not it.is_over() and not closed
    recorder.stop_reason = "the limit of 6 trials was reached"
    assert it.is_over() and it.is_over() and len(closed) == 1


def test_events_that_are_there_are_compared_and_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("one\ntwo\ntorn")
    log = EventLog(path, is_followed=True)
    log.write("one")
    log.write("two")
    assert path.read_text() == "one\ntwo\n"
    log.write("three")
    log.close()
    assert path.read_text() == "one\ntwo\nthree\n"
    path.write_text('one\ntwo\nthree\n{"trial":0,"status":"cut"}\n{"trial":1,"status":"cut"}\n')
    killed_at_its_end = EventLog(path, is_followed=True)
    for line in ("one", "two", "three", "four"):
        killed_at_its_end.write(line)
    killed_at_its_end.close()
    assert path.read_text() == "one\ntwo\nthree\nfour\n"
    other = EventLog(path, is_followed=True)
    other.write("one")
    with pytest.raises(OtherHistoryError):
        other.write("2")
    other.close()


def test_each_answer_of_the_past_waits_for_its_turn() -> None:
    async def tell() -> None:
        one, two, three = reported(0, 1.0), reported(1, 2.0), reported(0, 3.0)
        turns = Turns([Suggested(tune_id="a"), one, two, three])
        first = asyncio.ensure_future(turns.next(0))
        second = asyncio.ensure_future(turns.next(1))
        await asyncio.sleep(0)
        assert not first.done() and not second.done(), "a suggestion comes before them"
        await turns.advance(1)
        assert await first == (one, 0) and not second.done()
        again = asyncio.ensure_future(turns.next(0))
        await asyncio.sleep(0)
        assert not again.done(), "the same answer is not given twice"
        await turns.advance(2)
        assert await second == (two, 0) and not again.done()
        last = asyncio.ensure_future(turns.next(1))
        await asyncio.sleep(0)
        assert not last.done(), "its last answer has not been heard"
        await turns.advance(3)
        assert await last is None, "nothing is left of this trial"
        assert await again == (three, 1) and not turns.over.is_set()
        await turns.advance(4)
        assert turns.over.is_set() and await turns.next(0) is None

    asyncio.run(tell())


def test_a_checkpoint_of_the_past_waits_for_its_turn_too() -> None:
    async def tell() -> None:
        one, two = reported(0, 1.0), reported(1, 2.0)
        turns = Turns([one, two, Saved(trial=0)])
        assert await turns.next(0) == (one, 0)
        save = asyncio.ensure_future(turns.save(0))
        unheard_of = asyncio.ensure_future(turns.save(1))
        await turns.advance(1)
        assert await turns.next(1) == (two, 0) and not save.done()
        await turns.advance(2)
        await save
        assert not unheard_of.done(), "a kill came before it"
        await turns.advance(3)
        await unheard_of

    asyncio.run(tell())


class Remote:
    """A method of an actor that is in this process."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.remote = method


def test_a_checkpoint_of_the_past_has_the_state_after_its_own_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trial 0 diverged at its epoch 2 and took over trial 7's state of epoch 3; then another
    actor went on with it from there. Its states are all there yet."""
    past = [
        reported(0, at_s).model_copy(update={"epoch": epoch}) for at_s, epoch in ((4, 4), (5, 5))
    ]
    turns = [Turn(past[0], reports=2), Turn(past[1], reports=3)]
    states = Storage(str(tmp_path / "states"))
    for reports in (2, 3, 4):
        TrialStates(states, 0, keep_saved=3).save(reports, f"after {reports} reports".encode())
    actor = TrialActor.__new__(TrialActor)
    actor._trial_info = SimpleNamespace(trial_name=trial_name(0))
    actor._clock, actor._overhead = MonotonicClock(), []
    actor._states_storage, actor._keep_saved, actor._metric = states, 3, "score"
    actor._pool = SimpleNamespace(
        look_back=Remote(lambda trial: turns.pop(0)), turn_to_save=Remote(lambda trial: None)
    )
    actor._last_result = {}
    monkeypatch.setattr(ray, "get", lambda given: given)
    donor = tmp_path / "donor"
    donor.mkdir()
    (donor / "origin.json").write_text('{"trial": 7, "epoch": 3, "reports": 5, "failures": 0}')
    saved = tmp_path / "saved"
    saved.mkdir()

    actor._begin({"x": 1.0})
    actor.load_checkpoint(str(donor))
    for epoch in (4, 5):
        actor.step()
        actor._iteration += 1  # As Tune does.
        assert actor.iteration == epoch
        actor.save_checkpoint(str(saved))
        assert (saved / "state.pt").read_bytes() == f"after {epoch - 1} reports".encode()
    origin = json.loads((saved / "origin.json").read_text())
    assert (origin["epoch"], origin["reports"]) == (5, 4)
    assert not actor._overhead, "being told again takes nothing from the budget"


def test_a_trial_whose_state_did_not_survive_fails_and_does_not_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be reported under the lineage of the donor, whose state is gone with the storage."""
    actor = TrialActor.__new__(TrialActor)
    actor._trial_info = SimpleNamespace(trial_name=trial_name(0))
    actor._clock, actor._overhead = MonotonicClock(), []
    actor._states_storage = Storage(str(tmp_path / "states"))
    actor._keep_saved, actor._metric = 3, "score"
    actor._pool = SimpleNamespace(look_back=Remote(lambda trial: Progress(reports=2, epoch=2)))
    monkeypatch.setattr(ray, "get", lambda given: given)
    (tmp_path / "origin.json").write_text('{"trial": 7, "epoch": 3, "reports": 5, "failures": 0}')
    actor._begin({"x": 1.0})
    actor.load_checkpoint(str(tmp_path))
    told = actor.step()
    assert told[FAILED] and told["done"]
    assert [failure.reason for failure in told[EXTRA]] == ["its state did not survive a kill"]


def test_without_a_past_nothing_waits() -> None:
    async def tell() -> None:
        turns = Turns([])
        assert turns.over.is_set() and await turns.next(0) is None

    asyncio.run(tell())


def test_the_newest_state_and_the_last_checkpoints_are_kept(tmp_path: Path) -> None:
    states = TrialStates(Storage(str(tmp_path)), trial=3, keep_saved=2)
    for reports in (2, 4, 6):
        states.save(reports, b"saved %d" % reports)
    states.keep(7, b"newest")
    states._writer.shutdown(wait=True)
    folder = tmp_path / "00003"
    assert {path.name for path in folder.iterdir()} == {"4.saved.pt", "6.saved.pt", "7.pt"}
    after_a_kill = TrialStates(Storage(str(tmp_path)), trial=3, keep_saved=2)
    assert after_a_kill.newest(0, 9) == (7, b"newest")
    assert after_a_kill.newest(0, 6) == (6, b"saved 6")
    assert after_a_kill.newest(6, 6) is None
    assert after_a_kill.at(4) == b"saved 4" and after_a_kill.at(2) is None
    after_a_kill.close(6)
    assert after_a_kill.newest(0, 9) == (7, b"newest"), "it rests in a past that is told again"
    after_a_kill.close(7)
    assert {path.name for path in folder.iterdir()} == {"4.saved.pt", "6.saved.pt"}


class Waiting:
    """A trial of Tune's that has no actor yet."""

    trial_id, config = "00011", {"lr": 0.1}

    def __str__(self) -> str:
        return trial_name(11)


def test_a_trial_whose_actor_died_may_not_have_begun_when_it_is_told_again(tmp_path: Path) -> None:
    first = begin(tmp_path)
    first.append(ActorDied(tune_id="00011", failure=FAILURE))
    first.close()
    benchmark = NoisyQuadratic()
    recorder = CellTuning(
        make_spec("random/asha", benchmark, slots=1, trainings=4.0, seed=0),
        STRATEGIES.get("random/asha"),
        benchmark,
        tmp_path,
        MeasuredTime(MonotonicClock()),
        lambda incumbent, state: None,
        is_followed=True,
    ).recorder
    heard_lines: list[int] = []
    deaths: list[int] = []
    second = begin(tmp_path)
    replay = Replay(second, recorder, heard_lines.append, lambda *report: None, deaths.append)
    replay.on_step_end(0, [])
    assert not replay.is_over, "the trial has not been made"
    replay.on_step_end(1, [Waiting()])  # type: ignore[list-item]
    assert replay.is_over and heard_lines == [1] and deaths == [11]
    second.close()
    (event,) = (tmp_path / "events.jsonl").read_text().splitlines()
    end = EventLine.validate_json(event)
    assert isinstance(end, TrialEnd) and (end.trial, end.retried) == (11, True)


def test_how_far_a_trial_is() -> None:
    parent = Parent(trial=5, epoch=2)
    progress = Progress(deaths=2).after_report(1, None).after_report(2, parent)
    assert progress == Progress(reports=2, epoch=2, parent=parent, parent_at=1, deaths=0)
    assert progress.after_report(3, None).parent == parent


def test_the_same_error_twice_at_the_same_place_ends_the_attempts(tmp_path: Path) -> None:
    note_stumble(tmp_path, 7, ValueError("no"))
    note_stumble(tmp_path, 8, ValueError("no"))
    note_stumble(tmp_path, 8, ValueError("a passing one"))
    note_stumble(tmp_path, 8, ValueError("no"))
    with pytest.raises(JournalError, match=r"after line 8 of journal\.jsonl: ValueError: no") as it:
        note_stumble(tmp_path, 8, ValueError("no"))
    assert why_not_gone_on_with(it.value) is not None, "and the cell is begun anew"
