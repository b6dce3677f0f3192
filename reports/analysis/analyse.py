"""All analyses of a run, made once and in order: what figures, tables and page are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from harness.contract.records import Summary
from reports.analysis.comparisons import compare_all, effects, score_table
from reports.analysis.compute import device_time, device_time_by_strategy, ledger_gaps
from reports.analysis.configurations import configurations
from reports.analysis.curves import WALL, Focus, focus, regret_curves, score_curves
from reports.analysis.frames import (
    failures_frame,
    in_flight_frame,
    records,
    report_columns,
    reports_frame,
    trials_frame,
    within_reason,
)
from reports.analysis.incumbents import final_incumbents, incumbent_steps, of_sound_trials
from reports.analysis.optimism import optimism, optimism_by_strategy
from reports.analysis.ranking import Verdict, areas_by_cell, standings, verdict
from reports.analysis.repeats import without_repeats
from reports.analysis.savings import (
    epochs_by_cell,
    ideal_by_strategy,
    rung_table,
    savings_by_strategy,
)
from reports.analysis.stopping import rung_signals, stopping_costs, stopping_costs_by_strategy
from reports.analysis.summary import summarise
from reports.analysis.targets import reached_curves, target_times, time_to_target
from reports.analysis.told import told_scores
from reports.columns import ReportColumns
from reports.run import CellKey, Run


@dataclass(frozen=True)
class Analysis:
    """Frames by the name of the function that makes them; see there for their columns.

    ``best_score`` is the best validation score that any cell found (NaN: none has one).
    """

    run: Run
    summary: Summary
    steps: pd.DataFrame
    finals: pd.DataFrame
    configurations: pd.DataFrame
    curves: pd.DataFrame
    wall_curves: pd.DataFrame
    regret: pd.DataFrame
    best_score: float
    focus: Focus | None
    epochs: pd.DataFrame
    savings: pd.DataFrame
    ideal: pd.DataFrame
    rungs: pd.DataFrame
    device_time: pd.DataFrame
    device_time_by_strategy: pd.DataFrame
    failures: pd.DataFrame
    in_flight: pd.DataFrame
    target_times: pd.DataFrame
    time_to_target: pd.DataFrame
    reached: pd.DataFrame
    stopping_costs: pd.DataFrame
    stopping_costs_by_strategy: pd.DataFrame
    rung_signals: pd.DataFrame
    told_scores: pd.DataFrame
    optimism: pd.DataFrame
    optimism_by_strategy: pd.DataFrame
    standings: pd.DataFrame
    comparisons: pd.DataFrame
    effects: pd.DataFrame
    verdict: Verdict
    by_test: bool
    """Strategies are ranked by test score, not by validation score."""
    inconsistencies: tuple[str, ...]


def analyse(run: Run, columns: ReportColumns | None = None) -> Analysis:
    """Analyse what there is of a run; cells that repeat another seed's results are left out.

    ``columns``: as from :func:`reports.analysis.frames.report_columns`, where they are there
    already.
    """
    distinct = without_repeats(run)
    if distinct is not run:
        run, columns = distinct, None
    benchmark, budget = run.study.benchmark, run.study.budget_device_seconds
    mode = benchmark.mode
    reports = reports_frame(report_columns(run) if columns is None else columns)
    trials = trials_frame(run)
    steps = _with_wall_clock(incumbent_steps(of_sound_trials(reports, trials), mode), run)
    finals = final_incumbents(steps)
    best_score = float(finals["validation_score"].agg(mode)) if len(finals) else math.nan
    curves = score_curves(steps, budget)
    wall_end = max((cell.record.wall_seconds for cell in run.cells.values()), default=0.0)
    epochs = epochs_by_cell(trials)
    kinds = device_time(run)
    # A study whose test scores are all missing is still worth ranking.
    by_test = benchmark.test_metric is not None and bool(finals["test_score"].notna().any())
    scores = score_table(finals, by_test)
    standing = standings(run, finals, scores, areas_by_cell(run, steps), epochs, by_test)
    comparisons = compare_all(scores, list(standing["strategy"]), mode)
    times = target_times(run, steps)
    costs = stopping_costs(run)
    optimisms = optimism(run, finals)
    return Analysis(
        run=run,
        summary=summarise(run, epochs, kinds, finals),
        steps=steps,
        finals=finals,
        configurations=configurations(run, reports, trials, finals),
        curves=curves,
        wall_curves=score_curves(steps, wall_end, WALL),
        regret=regret_curves(curves, best_score, mode),
        best_score=best_score,
        focus=focus(curves, mode),
        epochs=epochs,
        savings=savings_by_strategy(epochs),
        ideal=ideal_by_strategy(run, epochs),
        rungs=rung_table(run, trials, reports),
        device_time=kinds,
        device_time_by_strategy=device_time_by_strategy(kinds),
        failures=failures_frame(run, trials),
        in_flight=in_flight_frame(run),
        target_times=times,
        time_to_target=time_to_target(times, budget),
        reached=reached_curves(times, budget),
        stopping_costs=costs,
        stopping_costs_by_strategy=stopping_costs_by_strategy(costs),
        rung_signals=rung_signals(run),
        told_scores=told_scores(run),
        optimism=optimisms,
        optimism_by_strategy=optimism_by_strategy(optimisms, mode),
        standings=standing,
        comparisons=comparisons,
        effects=effects(comparisons, run.study.strategies),
        verdict=verdict(standing, comparisons, scores, by_test),
        by_test=by_test,
        inconsistencies=_inconsistencies(run, finals, kinds),
    )


def _with_wall_clock(steps: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Add ``wall_s``: the seconds since the cell's start, its set-up included."""
    setup = {key: cell.record.setup_seconds for key, cell in run.cells.items()}
    start = [setup[key] for key in zip(steps["strategy"], steps["seed"], strict=True)]
    return steps.assign(**{WALL: steps["reported_s"] + start})


def _inconsistencies(run: Run, finals: pd.DataFrame, kinds: pd.DataFrame) -> tuple[str, ...]:
    """Where a cell's record and its events disagree: one line each."""
    lines = [
        f"{gap['strategy']}, seed {gap['seed']}: the ledger's kinds sum to {gap['sum']:,.1f} "
        f"device-seconds, but {gap['held']:,.1f} were held."
        for gap in records(ledger_gaps(kinds))
    ]
    derived: dict[CellKey, float] = {
        (row["strategy"], row["seed"]): row["validation_score"] for row in records(finals)
    }
    for (strategy, seed), cell in run.cells.items():
        recorded = cell.record.incumbent
        score = math.nan if recorded is None else recorded.validation_score
        score = float(within_reason(pd.Series([score]))[0])
        found = derived.get((strategy, seed), math.nan)
        if score != found and not (math.isnan(score) and math.isnan(found)):
            lines.append(
                f"{strategy}, seed {seed}: cell.json names an incumbent of {score:.6g}, "
                f"the events one of {found:.6g}; this report uses the events."
            )
    return tuple(lines)
