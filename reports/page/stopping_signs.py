"""Signs that a scheduler stops the wrong trials, in plain sentences with what to try."""

from __future__ import annotations

import math
from typing import Any

from reports import units
from reports.analysis import Analysis
from reports.analysis.frames import records

LOW_CORRELATION = 0.5
"""Of a rung's order with the final one, all trials taken."""
LOW_AMONG_SURVIVORS, MIN_SURVIVORS = 0.0, 30
"""Survivors lie close together: only a correlation that is not even positive says something."""
LUCKY_SHARE = 0.3
"""Of cells whose winner was among the worst tenth of those that went on."""
MIN_ARRIVALS = 4
"""So many trials at a rung, and one of them should have been stopped by a factor of 3 or 4."""
FALSE_STOP_SHARE = 0.5
"""Of cells in which a stopped trial would have won."""


def stopping_signs(analysis: Analysis) -> list[str]:
    """One sentence per strategy and sign; empty where nothing says that stopping hurts."""
    signals = records(analysis.rung_signals)
    sentences = []
    for name in dict.fromkeys(row["strategy"] for row in signals):
        own = [row for row in signals if row["strategy"] == name]
        cap = analysis.run.study.benchmark.max_epochs
        sentences += _of_rungs(str(name), own, cap)
        sentences += _of_costs(str(name), analysis)
    sentences += _none_stopped(analysis)
    return sentences


def _none_stopped(analysis: Analysis) -> list[str]:
    """Strategies that could have stopped trials and stopped none at all."""
    sentences = []
    rungs = records(analysis.rungs)
    for strategy in analysis.run.study.strategies:
        own = [row for row in rungs if row["strategy"] == strategy.name]
        compared = sum(row["promoted"] for row in own[:1])
        if len(own) < 2 or compared < MIN_ARRIVALS or any(row["stopped"] for row in own):
            continue
        sentences.append(
            f"{strategy.name} stopped none of the {compared} trials that it compared at epoch "
            f"{own[0]['rung']}. That need not be a fault: Ray's ASHA judges a trial when it "
            "arrives, against those that came before it, so that scores arriving from worst to "
            "best all go on."
        )
    return sentences


def _of_rungs(name: str, rungs: list[dict[str, Any]], cap: int) -> list[str]:
    misleading = [row for row in rungs if _is_misleading(row)]
    sentences = []
    if misleading:
        last = misleading[-1]
        better = [row["rung"] for row in rungs if row["rung"] > last["rung"]]
        is_warm_up = bool(better) and misleading == rungs[: len(misleading)]
        what = (
            f"{name}: at epoch {last['rung']} the order of the trials says little about the final "
            f"one (rank correlation {last['correlation']:.2f}, {_basis(last)})"
        )
        if is_warm_up:
            what += f", but it does from epoch {better[0]} on: the rung falls into the warm-up"
        longer = better[0] if better else min(cap, 2 * last["rung"])
        sentences.append(
            f"{what}. Try a grace period of {longer} epochs, and a FIFO pilot to see whole curves."
        )
    lucky = [row for row in rungs if row["near_cutoff"] > LUCKY_SHARE and row not in misleading]
    if lucky:
        row = lucky[0]
        sentences.append(
            f"{name}: in {units.percent(row['near_cutoff'])} of the cells the best trial at the "
            f"cap was among the worst tenth of those that went on at epoch {row['rung']}: as good "
            "ones may have been stopped there. Try a longer grace period."
        )
    return sentences


def _is_misleading(row: dict[str, Any]) -> bool:
    if math.isnan(row["correlation"]):
        return False
    if row["basis"] == "all":
        return bool(row["correlation"] < LOW_CORRELATION)
    return bool(row["trials"] >= MIN_SURVIVORS and row["correlation"] <= LOW_AMONG_SURVIVORS)


def _basis(row: dict[str, Any]) -> str:
    trials = units.counted(row["trials"], "trial")
    return trials if row["basis"] == "all" else f"{trials} that ran to the cap"


def _of_costs(name: str, analysis: Analysis) -> list[str]:
    costs = analysis.stopping_costs
    own = costs[(costs["strategy"] == name) & (costs["known"] > 0)]
    hurt = own[own["false_stops"] > 0]
    if len(hurt) <= FALSE_STOP_SHARE * len(own):
        return []
    return [
        f"{name}: in {len(hurt)} of {units.counted(len(own), 'cell')} a stopped trial would have "
        f"beaten the final incumbent; the regret is {units.difference(own['regret'].mean())} on "
        "average. Try a longer grace period, or FIFO where the budget allows few stops."
    ]
