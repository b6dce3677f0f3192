"""All analyses of a run, made once and in order: what figures, tables and page are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from harness.contract.records import Summary
from reports.analysis.compute import device_time, device_time_by_strategy, ledger_gaps
from reports.analysis.curves import Focus, focus, score_curves
from reports.analysis.frames import failures_frame, in_flight_frame, reports_frame, trials_frame
from reports.analysis.incumbents import final_incumbents, incumbent_steps
from reports.analysis.savings import (
    epochs_by_cell,
    ideal_by_strategy,
    rung_table,
    savings_by_strategy,
)
from reports.analysis.standings import Verdict, standings, verdict
from reports.analysis.summary import summarise
from reports.run import CellKey, Run


@dataclass(frozen=True)
class Analysis:
    """Frames by the name of the function that makes them; see there for their columns."""

    run: Run
    summary: Summary
    steps: pd.DataFrame
    finals: pd.DataFrame
    curves: pd.DataFrame
    focus: Focus | None
    epochs: pd.DataFrame
    savings: pd.DataFrame
    ideal: pd.DataFrame
    rungs: pd.DataFrame
    device_time: pd.DataFrame
    device_time_by_strategy: pd.DataFrame
    failures: pd.DataFrame
    in_flight: pd.DataFrame
    standings: pd.DataFrame
    verdict: Verdict
    by_test: bool
    """Strategies are ranked by test score, not by validation score."""
    inconsistencies: tuple[str, ...]


def analyse(run: Run) -> Analysis:
    """Analyse what there is of a run."""
    benchmark = run.study.benchmark
    reports, trials = reports_frame(run), trials_frame(run)
    steps = incumbent_steps(reports, benchmark.mode)
    finals = final_incumbents(steps)
    curves = score_curves(steps, run.study.budget_device_seconds)
    epochs = epochs_by_cell(trials)
    kinds = device_time(run)
    # A study whose test scores are all missing is still worth ranking.
    by_test = benchmark.test_metric is not None and bool(finals["test_score"].notna().any())
    names = [strategy.name for strategy in run.study.strategies]
    standing = standings(finals, names, benchmark.mode, by_test)
    return Analysis(
        run=run,
        summary=summarise(run, epochs, kinds, finals),
        steps=steps,
        finals=finals,
        curves=curves,
        focus=focus(curves, benchmark.mode),
        epochs=epochs,
        savings=savings_by_strategy(epochs),
        ideal=ideal_by_strategy(run, epochs),
        rungs=rung_table(run, trials, reports),
        device_time=kinds,
        device_time_by_strategy=device_time_by_strategy(kinds),
        failures=failures_frame(run),
        in_flight=in_flight_frame(run),
        standings=standing,
        verdict=verdict(standing, by_test),
        by_test=by_test,
        inconsistencies=_inconsistencies(run, finals, kinds),
    )


def _inconsistencies(run: Run, finals: pd.DataFrame, kinds: pd.DataFrame) -> tuple[str, ...]:
    """Where a cell's record and its events disagree: one line each."""
    lines = [
        f"{gap['strategy']}, seed {gap['seed']}: the ledger's kinds sum to {gap['sum']:,.1f} "
        f"device-seconds, but {gap['held']:,.1f} were held."
        for gap in ledger_gaps(kinds).to_dict("records")
    ]
    derived: dict[CellKey, float] = {
        (row["strategy"], row["seed"]): row["validation_score"] for row in finals.to_dict("records")
    }
    for (strategy, seed), cell in run.cells.items():
        recorded = cell.record.incumbent
        score = math.nan if recorded is None else recorded.validation_score
        found = derived.get((strategy, seed), math.nan)
        if score != found and not (math.isnan(score) and math.isnan(found)):
            lines.append(
                f"{strategy}, seed {seed}: cell.json names an incumbent of {score:.6g}, "
                f"the events one of {found:.6g}; this report uses the events."
            )
    return tuple(lines)
