"""ASHA's epoch savings by rung, against the same trials run to completion."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from reports import units
from reports.analysis.frames import records
from reports.figures.bars import Bar, Piece, draw_bars
from reports.figures.style import GREY, INK, RUNG_COLOURS, Layout, short


def draw_epoch_savings(
    rungs: pd.DataFrame, ideal: pd.DataFrame, order: Sequence[str], layout: Layout
) -> Figure:
    """Draw :func:`reports.analysis.savings.rung_table`, one bar per strategy that ran an epoch.

    The whole bar is what its trials would have taken had none been stopped; the synchronous ideal
    (:func:`reports.analysis.savings.ideal_by_strategy`) is a mark on it.
    """
    ideals = dict(zip(ideal["strategy"], ideal["share"], strict=True))
    stretches = rungs.loc[rungs["strategy"].isin(ideals), ["after", "rung"]]
    colours = {
        stretch: RUNG_COLOURS[i % len(RUNG_COLOURS)]
        for i, stretch in enumerate(sorted(set(stretches.itertuples(index=False, name=None))))
    }
    bars = []
    for name in order:
        own = rungs[rungs["strategy"] == name]
        run, saved = int(own["epochs_run"].sum()), int(own["epochs_saved"].sum())
        if run == 0:
            continue
        full = run + saved
        has_rungs = name in ideals
        pieces = [
            Piece(
                _epochs(row["after"], row["rung"]) if has_rungs else "no rungs",
                row["epochs_run"] / full,
                colours[row["after"], row["rung"]] if has_rungs else GREY,
            )
            for row in records(own)
        ]
        if saved:
            pieces.append(Piece("saved", saved / full, INK, alpha=0.12))
        bars.append(Bar(short(name), _note(run, full, layout), pieces, mark=ideals.get(name)))
    return draw_bars(bars, "epochs, as a share of run-to-completion", "synchronous ideal", layout)


def _epochs(after: int, rung: int) -> str:
    return f"epoch {rung}" if rung == after + 1 else f"epochs {after + 1}–{rung}"


def _note(run: int, full: int, layout: Layout) -> str:
    if run == full:
        return f"{run:,} epochs run, none saved" if layout.is_wide else "none saved"
    saved = f"{units.percent(1 - run / full)} saved"
    return f"{run:,} of {full:,} epochs run, {saved}" if layout.is_wide else saved
