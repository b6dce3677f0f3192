"""Where one cell's compute went: every second of every slot, once, and in few bytes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from harness.contract.records import CellRecord, InFlight, LedgerRow, Parent, Report, Span
from reports.analysis.frames import report_columns, reports_frame, trials_frame
from reports.analysis.incumbents import final_incumbents, incumbent_steps, of_sound_trials
from reports.analysis.timeline import (
    IN_FLIGHT,
    PIECE_COLUMNS,
    REST,
    STRETCH_COLUMNS,
    choose_cell,
    gather,
    stretches,
    timeline,
    unplaced_seconds,
)
from reports.figures import inline_svg
from reports.figures.style import NARROW, WIDE, Layout, figure_style
from reports.figures.timeline import describe_timeline, draw_timeline
from reports.run import Cell
from reports.store import read_run
from tests.reports import make_run
from tests.reports.make_run import end, report, write_realistic_run


def make_cell(reports: list[Report], **fields: Any) -> Cell:
    """A cell of two slots of one device that holds 20 device-seconds: ten seconds."""
    values = make_run.cell(**{"held_device_seconds": 20.0, "ledger": [], **fields})
    return Cell(CellRecord(events=0, events_sha256="", **values), tuple(reports), ())


def epoch(
    trial: int, number: int, slot: int, start: float, spans: list[tuple[Any, float]], **fields: Any
) -> Report:
    return report(
        trial, number, fields.pop("validation_score", 0.5), 0.0, slot=slot, started_s=start,
        spans=[Span(kind=kind, seconds=seconds) for kind, seconds in spans],
        **{"reported_s": start + sum(seconds for _, seconds in spans), **fields},
    )  # fmt: skip


def rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [
        tuple(None if value is pd.NA else value for value in row)
        for row in frame.itertuples(index=False, name=None)
    ]


CELL = make_cell(
    [
        epoch(0, 1, 0, 0.5, [("restore", 0.5), ("train", 2.0), ("evaluate", 1.0)]),
        epoch(1, 1, 1, 0.0, [("train", 5.0)], decision="stop"),
        epoch(0, 2, 0, 4.0, [("train", 3.0)], reported_s=7.5),
    ],
    in_flight=[
        InFlight(trial=2, epoch=1, device_seconds=4.5),
        InFlight(trial=0, epoch=3, device_seconds=2.0),
    ],
    ledger=[
        LedgerRow(trial=0, kind="restore", device_seconds=0.5),
        LedgerRow(trial=0, kind="train", device_seconds=7.0),
        LedgerRow(trial=0, kind="evaluate", device_seconds=1.0),
        LedgerRow(trial=1, kind="train", device_seconds=5.0),
        LedgerRow(trial=2, kind="train", device_seconds=4.5),
        LedgerRow(trial=0, kind="checkpoint", device_seconds=0.25),
        LedgerRow(trial=None, kind="idle", device_seconds=1.75),
    ],
)


def test_exact_pieces() -> None:
    """Trial 2 was never reported: its slot is the one that was free when it began."""
    assert rows(timeline(CELL, 1.0)) == [
        (0, REST, None, None, 0.0, 0.5),
        (0, "restore", 0, 1, 0.5, 1.0),
        (0, "train", 0, 1, 1.0, 3.0),
        (0, "evaluate", 0, 1, 3.0, 4.0),
        (0, "train", 0, 2, 4.0, 7.0),
        (0, REST, None, None, 7.0, 8.0),
        (0, IN_FLIGHT, 0, 3, 8.0, 10.0),
        (1, "train", 1, 1, 0.0, 5.0),
        (1, REST, None, None, 5.0, 5.5),
        (1, IN_FLIGHT, 2, 1, 5.5, 10.0),
    ]


def test_what_the_rest_is_made_of() -> None:
    found = unplaced_seconds(CELL, timeline(CELL, 1.0), 1.0)
    assert found == pytest.approx(
        {
            "setup": 0, "train": 0, "evaluate": 0, "checkpoint": 0.25, "restore": 0, "idle": 1.75,
            "lost": 0,
        }
    )  # fmt: skip


def test_exact_stretches() -> None:
    assert rows(stretches(CELL, timeline(CELL, 1.0), winner=0)) == [
        (0, 0, 0.5, 10.0, False, True),
        (1, 1, 0.0, 5.0, True, False),
        (1, 2, 5.5, 10.0, False, False),
    ]


def test_a_slot_of_several_devices() -> None:
    """Twenty device-seconds on two slots of four devices are 2.5 seconds."""
    cell = make_cell(
        [epoch(0, 1, 1, 0.0, [("train", 1.5)])],
        in_flight=[InFlight(trial=0, epoch=2, device_seconds=4.0)],
    )
    assert rows(timeline(cell, 4.0)) == [
        (0, REST, None, None, 0.0, 2.5),
        (1, "train", 0, 1, 0.0, 1.5),
        (1, IN_FLIGHT, 0, 2, 1.5, 2.5),
    ]


def test_work_in_flight_whose_slot_cannot_be_told_is_not_invented() -> None:
    busy = [epoch(t, 1, t, 0.0, [("train", 10.0)]) for t in (0, 1)]
    cell = make_cell(busy, in_flight=[InFlight(trial=5, epoch=1, device_seconds=3.0)])
    assert set(timeline(cell, 1.0)["kind"]) == {"train"}


def test_an_empty_cell() -> None:
    nothing = timeline(make_cell([], slots=0, held_device_seconds=0.0), 1.0)
    assert nothing.empty
    assert nothing.dtypes.astype(str).to_dict() == PIECE_COLUMNS
    found = stretches(CELL, nothing, winner=None)
    assert found.empty
    assert list(found) == list(STRETCH_COLUMNS)
    assert "nothing ran" in describe_timeline(nothing, found)


def check(pieces: pd.DataFrame, slots: int) -> None:
    """Pieces do not overlap, and cover every slot from 0 to one end."""
    assert (pieces["end_s"] >= pieces["start_s"]).all()
    assert pieces["slot"].nunique() == slots
    for _, own in pieces.groupby("slot"):
        starts, ends = own["start_s"].to_numpy(), own["end_s"].to_numpy()
        assert starts[0] == 0
        assert ends[-1] == pytest.approx(pieces["end_s"].max())
        assert starts[1:] == pytest.approx(ends[:-1])


@pytest.mark.parametrize("mode", ["max", "min"])
def test_realistic_cells_are_covered_and_agree_with_their_ledgers(
    tmp_path: Path, mode: Any
) -> None:
    run = read_run(write_realistic_run(tmp_path, mode=mode, failure_rate=0.2))
    sound = of_sound_trials(reports_frame(report_columns(run)), trials_frame(run))
    finals = final_incumbents(incumbent_steps(sound, mode))
    for key, cell in run.cells.items():
        pieces = timeline(cell, 1.0)
        check(pieces, 2)
        assert pieces["end_s"].max() == pytest.approx(cell.record.held_device_seconds / 2)
        seconds = (pieces["end_s"] - pieces["start_s"]).groupby(pieces["kind"]).sum()
        charged = pd.DataFrame([row.model_dump() for row in cell.record.ledger])
        ledger = charged.groupby("kind")["device_seconds"].sum()
        for kind in ("evaluate", "checkpoint", "restore"):
            # Only what failed attempts took has no place.
            assert 0.9 * ledger[kind] <= seconds[kind] <= ledger[kind] + 1e-6
        left = unplaced_seconds(cell, pieces, 1.0)
        assert sum(left.values()) == pytest.approx(seconds.get(REST, 0.0), abs=0.1)
        in_flight = sum(work.device_seconds for work in cell.record.in_flight)
        assert seconds.get(IN_FLIGHT, 0.0) == pytest.approx(in_flight)
        assert choose_cell(finals, key[0], mode) in {0, 1, 2}


def test_the_cell_with_the_median_score() -> None:
    finals = pd.DataFrame(
        {
            "strategy": ["a", "a", "a", "b", "b"],
            "seed": [0, 1, 2, 7, 8],
            "validation_score": [0.9, 0.1, 0.5, 0.3, 0.4],
        }
    )
    assert choose_cell(finals, "a", "max") == choose_cell(finals, "a", "min") == 2
    assert (choose_cell(finals, "b", "max"), choose_cell(finals, "b", "min")) == (7, 8)
    assert choose_cell(finals, "c", "max") is None


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.floats(0, 12), st.floats(0, 12),
            st.lists(st.tuples(st.sampled_from(["train", "evaluate"]), st.floats(0, 9))),
        ),
        max_size=12,
    ),
    st.lists(st.tuples(st.integers(0, 5), st.floats(0, 25)), max_size=4),
)  # fmt: skip
def test_records_that_contradict_each_other_still_make_a_timeline(
    epochs: list[Any], works: list[Any]
) -> None:
    cell = make_cell(
        [
            epoch(i, 1, slot, start, spans, reported_s=start + lasted)
            for i, (slot, start, lasted, spans) in enumerate(epochs)
        ],
        in_flight=[InFlight(trial=t, epoch=1, device_seconds=s) for t, s in works],
    )
    pieces = timeline(cell, 1.0)
    assert (pieces["end_s"] > pieces["start_s"]).all()
    check(pieces, len({0, 1, *(slot for slot, *_ in epochs)}))
    check_gathered(gather(pieces, 1.0), pieces["slot"].nunique())


# Gathering ------------------------------------------------------------------------------------


def cut(slots: int, per_slot: int, seed: int = 0, trials: int = 40) -> pd.DataFrame:
    """A timeline of 1,000 seconds, each epoch with four kinds of work."""
    random = np.random.default_rng(seed)
    kinds = ["restore", "train", "evaluate", REST]
    frames = []
    for slot in range(slots):
        lengths = random.gamma(1.0, [[0.05, 1.0, 0.2, 0.15]], (per_slot, 4)).ravel()
        edges = np.concatenate([[0], np.cumsum(lengths)]) * 1000 / lengths.sum()
        edges[-1] = 1000
        number = np.arange(4 * per_slot) // 4
        kind = np.tile(kinds, per_slot)
        trial = pd.array(slot * 10_000 + number * trials // per_slot, dtype="Int64")
        trial[kind == REST] = pd.NA
        frames.append(
            pd.DataFrame(
                {
                    "slot": slot, "kind": kind, "trial": trial, "epoch": trial,
                    "start_s": edges[:-1], "end_s": edges[1:],
                }
            )
        )  # fmt: skip
    return pd.concat(frames, ignore_index=True).astype(PIECE_COLUMNS)


@pytest.mark.parametrize("least_s", [0.5, 5.0, 50.0, 5000.0])
def test_gathering_keeps_every_second(least_s: float) -> None:
    pieces = cut(3, 200)
    gathered = gather(pieces, least_s)
    check_gathered(gathered, 3)
    assert least_s < 1 or len(gathered) < len(pieces)

    def seconds(frame: pd.DataFrame) -> pd.Series:
        area = (frame["end_s"] - frame["start_s"]) * (frame["high"] - frame["low"])
        return area.groupby([frame["slot"], frame["kind"]]).sum()

    pd.testing.assert_series_equal(seconds(gathered), seconds(pieces.assign(low=0.0, high=1.0)))


def check_gathered(gathered: pd.DataFrame, slots: int) -> None:
    """Shares of a stretch of time are all of it, and the stretches a timeline."""
    assert (gathered["high"] >= gathered["low"]).all()
    stretch = gathered.groupby(["slot", "start_s", "end_s"], sort=False)
    assert stretch["low"].min().tolist() == pytest.approx([0.0] * len(stretch))
    assert stretch["high"].max().tolist() == pytest.approx([1.0] * len(stretch))
    shares = (gathered["high"] - gathered["low"]).groupby(stretch.ngroup()).sum()
    assert shares.tolist() == pytest.approx([1.0] * len(stretch))
    check(stretch.size().reset_index(), slots)


def test_a_long_piece_stays_where_it_is() -> None:
    pieces = pd.DataFrame(
        [
            (0, "train", 0.0, 1.0), (0, REST, 1.0, 2.0), (0, "train", 2.0, 3.0),
            (0, "evaluate", 3.0, 4.0), (0, REST, 4.0, 9.0), (0, "train", 9.0, 9.5),
        ],
        columns=["slot", "kind", "start_s", "end_s"],
    )  # fmt: skip
    assert rows(gather(pieces, 4.0)) == [
        (0, "train", 0.0, 4.0, 0.0, 0.5), (0, "evaluate", 0.0, 4.0, 0.5, 0.75),
        (0, REST, 0.0, 4.0, 0.75, 1.0), (0, REST, 4.0, 9.0, 0.0, 1.0),
        (0, "train", 9.0, 9.5, 0.0, 1.0),
    ]  # fmt: skip


# Drawing --------------------------------------------------------------------------------------


def drawn(figure: Figure, layout: Layout = WIDE) -> str:
    return inline_svg(figure, f"x-{layout.name}", "title", "description")


def with_stretches(pieces: pd.DataFrame) -> pd.DataFrame:
    trials = pieces["trial"].dropna().unique()
    stopped = [report(int(t), 1, 0.1, 0.0, decision="stop") for t in trials[::2]]
    return stretches(make_cell(stopped), pieces, winner=int(trials[3]))


@pytest.mark.parametrize("layout", [WIDE, NARROW])
@pytest.mark.parametrize(
    ("slots", "epochs", "trials"), [(8, 500, 60), (64, 1000, 300), (300, 40, 5), (8, 500, 500)]
)
def test_small_whatever_it_shows(layout: Layout, slots: int, epochs: int, trials: int) -> None:
    pieces = cut(slots, epochs, trials=trials)
    with figure_style():
        svg = drawn(draw_timeline(pieces, with_stretches(pieces), 500.0, layout), layout)
    assert len(svg.encode()) < 60_000
    assert ("not all are shown" in svg) == (slots > 32)
    assert "incumbent" in svg


@pytest.mark.parametrize("layout", [WIDE, NARROW])
@pytest.mark.parametrize(
    ("hours", "unit"),
    [(1e-6, "milliseconds"), (1e-3, "seconds"), (1.0, "minutes"), (50.0, "hours"), (1e6, "days")],
)
def test_times_in_a_sensible_unit(layout: Layout, hours: float, unit: str) -> None:
    pieces = cut(2, 5)
    pieces[["start_s", "end_s"]] *= 3.6 * hours
    with figure_style():
        svg = drawn(draw_timeline(pieces, with_stretches(pieces), None, layout))
    assert f"{unit} since" in svg


def test_trials_are_numbered_where_they_fit() -> None:
    pieces = timeline(CELL, 1.0)
    with figure_style():
        figure = draw_timeline(pieces, stretches(CELL, pieces, 0), 4.0, WIDE)
        svg = drawn(figure)
    assert {text.get_text() for text in figure.axes[0].texts} == {"0", "1", "2"}
    for label in ("stopped or diverged", "trial 0: incumbent", "its best", IN_FLIGHT, REST):
        assert f">{label}</text>" in svg


def test_a_cell_in_which_nothing_was_reported() -> None:
    cell = make_cell([epoch(0, 1, 0, 0.0, [])])
    pieces = timeline(cell, 1.0)
    assert set(pieces["kind"]) == {REST}
    with figure_style():
        svg = drawn(draw_timeline(pieces, stretches(cell, pieces, None), None, NARROW))
    assert "incumbent" not in svg


def test_the_description_says_what_is_to_be_seen() -> None:
    pieces = timeline(CELL, 1.0)
    assert describe_timeline(pieces, stretches(CELL, pieces, 0)) == (
        "Timeline of 2 slots over 10.0 s: restore 2.5 %, train 50.0 %, evaluate 5.0 %, in flight "
        "32.5 %, idle or overhead 10.0 %; 3 trials, 1 of them ended early; trial 0 gave the final "
        "incumbent."
    )


def test_scores_do_not_matter() -> None:
    """NaN and ±inf, a parent, an end: a timeline is about time."""
    cell = make_cell(
        [
            epoch(0, 1, 0, 0.0, [("train", 1.0)], validation_score=math.nan, decision="diverged"),
            epoch(1, 1, 1, 0.0, [("train", 1.0)], validation_score=-math.inf),
            epoch(1, 2, 0, 2.0, [("train", 1.0)], parent=Parent(trial=0, epoch=1)),
        ]
    )
    cell = Cell(cell.record, cell.reports, (end(0, 1, "diverged"), end(1, 2, "failed")))
    found = stretches(cell, timeline(cell, 1.0), winner=1)
    assert rows(found[["slot", "trial", "ended_early", "is_winner"]]) == [
        (0, 0, True, False), (0, 1, False, True), (1, 1, False, True),
    ]  # fmt: skip
