"""What each slot of one cell did, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd

from harness.contract import Mode
from harness.contract.records import KINDS, InFlight, Kind, Report
from reports.run import Cell

IN_FLIGHT: Final = "in flight"
REST: Final = "idle or overhead"
PIECE_KINDS = ("restore", "setup", "train", "evaluate", "checkpoint", IN_FLIGHT, REST)
"""In the order in which they follow each other within an epoch, and lie upon each other."""
PIECE_COLUMNS = {
    "slot": "int64", "kind": "str", "trial": "Int64", "epoch": "Int64", "start_s": "float64",
    "end_s": "float64",
}  # fmt: skip
STRETCH_COLUMNS = {
    "slot": "int64", "trial": "int64", "start_s": "float64", "end_s": "float64",
    "ended_early": "bool", "is_winner": "bool",
}  # fmt: skip

PieceKind = Kind | Literal["in flight", "idle or overhead"]
Row = tuple[int, str, float, float, float, float]


def choose_cell(finals: pd.DataFrame, strategy: str, mode: Mode) -> int | None:
    """The seed whose final validation score is the strategy's median (of two, the worse).

    ``None`` where no seed has a score.

    Args:
        finals: as from :func:`reports.analysis.incumbents.final_incumbents`.
    """
    own = finals[finals["strategy"] == strategy]
    ranked = own.sort_values("validation_score", ascending=mode == "min", kind="stable")
    return None if ranked.empty else int(ranked["seed"].iloc[len(ranked) // 2])


def timeline(cell: Cell, devices_per_slot: float) -> pd.DataFrame:
    """Every slot's time from the cell's start to its end, cut into pieces without gaps.

    Reports say what their own time went into. The rest of a slot's time is ``REST``: no record says
    when in it the slot was idle, waited for a decision, wrote or read a checkpoint between epochs,
    was set up again, or trained an attempt that failed; :func:`unplaced_seconds` says how much of
    which. Work in flight at the cut is recorded without its slot: it is put on its trial's, or on
    the one that had been free for the shortest time when it began.

    Returns:
        ``slot``, ``kind`` (a ``Kind``, ``IN_FLIGHT`` or ``REST``), ``trial`` and ``epoch`` (NA
        where nothing ran), ``start_s``, ``end_s`` (seconds since the cell's start); by slot and
        time.
    """
    record = cell.record
    by_slot: dict[int, list[Report]] = {slot: [] for slot in range(record.slots)}
    for report in sorted(cell.reports, key=lambda report: report.started_s):
        by_slot.setdefault(report.slot, []).append(report)
    held_s = record.held_device_seconds / (devices_per_slot * max(record.slots, 1))
    # The last report may be past the cut by rounding.
    end_s = max([held_s, *(report.reported_s for report in cell.reports)])
    works = _in_flight_by_slot(record.in_flight, by_slot, end_s, devices_per_slot)
    rows = [
        (slot, piece.kind, piece.trial, piece.epoch, piece.start_s, piece.end_s)
        for slot, reports in sorted(by_slot.items())
        for piece in _without_gaps(_slot_pieces(reports, works.get(slot)), end_s)
    ]
    return pd.DataFrame(rows, columns=list(PIECE_COLUMNS)).astype(PIECE_COLUMNS)


@dataclass(frozen=True)
class _Piece:
    kind: PieceKind
    trial: int | None
    epoch: int | None
    start_s: float
    end_s: float


def _slot_pieces(reports: list[Report], in_flight: _Piece | None) -> Iterator[_Piece]:
    for report in reports:
        at_s = report.started_s
        for span in report.spans:
            # Measured by another clock: the spans may be longer than the epoch by rounding.
            end_s = min(at_s + span.seconds, report.reported_s)
            yield _Piece(span.kind, report.trial, report.epoch, at_s, end_s)
            at_s = end_s
    if in_flight is not None:
        yield in_flight


def _without_gaps(pieces: Iterator[_Piece], end_s: float) -> Iterator[_Piece]:
    at_s = 0.0
    for piece in pieces:
        if piece.start_s > at_s:
            yield _Piece(REST, None, None, at_s, piece.start_s)
            at_s = piece.start_s
        if piece.end_s > at_s:
            yield _Piece(piece.kind, piece.trial, piece.epoch, at_s, piece.end_s)
            at_s = piece.end_s
    if end_s > at_s:
        yield _Piece(REST, None, None, at_s, end_s)


def _in_flight_by_slot(
    works: list[InFlight], by_slot: dict[int, list[Report]], end_s: float, devices_per_slot: float
) -> dict[int, _Piece]:
    last = {slot: max(own, key=lambda r: r.reported_s) for slot, own in by_slot.items() if own}
    placed: dict[int, _Piece] = {}
    # The earliest first: every slot that was free for it was free for the later ones too.
    for work in sorted(works, key=lambda work: -work.device_seconds):
        start_s = max(end_s - work.device_seconds / devices_per_slot, 0.0)
        latest_s = start_s + 1e-9 * end_s
        free_s = {
            slot: last[slot].reported_s if slot in last else 0.0
            for slot in by_slot
            if slot not in placed
        }
        own = [slot for slot in free_s if slot in last and last[slot].trial == work.trial]
        free = [slot for slot in free_s if free_s[slot] <= latest_s]
        if candidates := [slot for slot in own if slot in free] or free:
            slot = max(candidates, key=lambda slot: free_s[slot])
            placed[slot] = _Piece(IN_FLIGHT, work.trial, work.epoch, start_s, end_s)
    return placed


def unplaced_seconds(
    cell: Cell, pieces: pd.DataFrame, devices_per_slot: float
) -> dict[Kind, float]:
    """What ``REST`` is made of by the ledger: slot-seconds by kind (≥ 0), over all slots.

    Args:
        pieces: as from :func:`timeline`.
    """
    placed = (pieces["end_s"] - pieces["start_s"]).groupby(pieces["kind"]).sum()
    left: dict[Kind, float] = {}
    for kind in KINDS:
        charged = sum(row.device_seconds for row in cell.record.ledger if row.kind == kind)
        shown = placed.get(kind, 0.0) + (placed.get(IN_FLIGHT, 0.0) if kind == "train" else 0.0)
        left[kind] = max(charged / devices_per_slot - shown, 0.0)
    return left


def stretches(cell: Cell, pieces: pd.DataFrame, winner: int | None) -> pd.DataFrame:
    """The stretches for which a slot had the same trial, from its first piece to its last.

    Args:
        pieces: as from :func:`timeline`.
        winner: the trial of the final incumbent, if there is one.

    Returns:
        ``slot``, ``trial``, ``start_s``, ``end_s``, ``ended_early`` (with it the trial was stopped
        by the scheduler or diverged), ``is_winner``; by slot and time.
    """
    worked = pieces[pieces["trial"].notna()].astype({"trial": "int64"})
    is_new = (worked[["slot", "trial"]] != worked[["slot", "trial"]].shift()).any(axis=1)
    frame = (
        worked.groupby(is_new.cumsum())
        .agg(
            slot=("slot", "first"),
            trial=("trial", "first"),
            start_s=("start_s", "first"),
            end_s=("end_s", "last"),
        )
        .reset_index(drop=True)
    )
    early = {report.trial for report in cell.reports if report.decision in ("stop", "diverged")}
    last = frame.groupby("trial")["end_s"].transform("max") == frame["end_s"]
    return frame.assign(
        ended_early=last & frame["trial"].isin(early), is_winner=frame["trial"] == winner
    ).astype(STRETCH_COLUMNS)


def gather(pieces: pd.DataFrame, least_s: float) -> pd.DataFrame:
    """Fewer pieces that say the same from afar: short ones share a stretch of time.

    Pieces shorter than ``least_s`` are gathered until they are as long together. Each kind among
    them gets all of that stretch, but only its share of the height; so its area is its time.

    Args:
        pieces: as from :func:`timeline`.

    Returns:
        ``slot``, ``kind``, ``start_s``, ``end_s``, ``low``, ``high`` (of the height, 0 … 1).
    """
    columns = ["slot", "kind", "start_s", "end_s"]
    rows = [
        row
        for _, own in pieces[columns].groupby("slot", sort=False)
        for row in _gather_slot(own.to_numpy().tolist(), least_s)
    ]
    return pd.DataFrame(rows, columns=[*columns, "low", "high"])


def _gather_slot(rows: list[Any], least_s: float) -> Iterator[Row]:
    short_s: dict[str, float] = {}
    from_s = 0.0
    for slot, kind, start_s, end_s in rows:
        if end_s - start_s >= least_s:
            yield from _side_by_side(slot, from_s, start_s, short_s)
            yield slot, kind, start_s, end_s, 0.0, 1.0
            short_s, from_s = {}, end_s
            continue
        short_s[kind] = short_s.get(kind, 0.0) + end_s - start_s
        if end_s - from_s >= least_s:
            yield from _side_by_side(slot, from_s, end_s, short_s)
            short_s, from_s = {}, end_s
    if rows:
        yield from _side_by_side(rows[-1][0], from_s, rows[-1][3], short_s)


def _side_by_side(
    slot: int, start_s: float, end_s: float, seconds: dict[str, float]
) -> Iterator[Row]:
    total, low = sum(seconds.values()), 0.0
    for kind in sorted(seconds, key=PIECE_KINDS.index):
        high = low + seconds[kind] / total
        yield slot, kind, start_s, end_s, low, high
        low = high
