"""What the page says in sentences: the verdict, what weakens it, how the numbers were made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from reports import units
from reports.analysis import Analysis
from reports.analysis.curves import MIN_SEEDS_FOR_INTERVAL_BAND
from reports.analysis.standings import MIN_SEEDS_TO_CLAIM, Verdict

UNSPENT_SHARE = 0.02
"""A strategy that left more than this of its budget unspent is named."""


def verdict_sentences(analysis: Analysis) -> list[str]:
    """Who is ahead, by how much, and whether that can be claimed; the first is the headline."""
    study, found = analysis.run.study, analysis.verdict
    metric = study.benchmark.test_metric if analysis.by_test else study.benchmark.metric
    if not found.best:
        return [f"No strategy has a finite {study.benchmark.metric}: there is nothing to compare."]
    if len(found.best) > 1:
        headline = (
            f"{_listed(found.best)} share the best {metric} of the incumbent: "
            f"{units.score(found.score)}."
        )
    else:
        mean = "" if found.seeds == 1 else f", the mean of {found.seeds} seeds"
        standing = "the best" if found.runner_up else "the only"
        headline = (
            f"{found.best[0]} has {standing} {metric} of an incumbent: "
            f"{units.score(found.score)}{mean}{_interval(found)}."
        )
    sentences = [headline]
    if found.runner_up is not None and found.gap is not None:
        sentences.append(f"{found.runner_up} comes next, {units.difference(found.gap)} behind.")
    return [*sentences, *_what_can_be_claimed(found)]


def _interval(found: Verdict) -> str:
    if math.isnan(found.low):
        return ""
    kind = "range" if found.seeds == 2 else "95 % t-interval"
    return f" ({kind} {units.score(found.low)} to {units.score(found.high)})"


def _what_can_be_claimed(found: Verdict) -> Iterable[str]:
    if found.runner_up is None:
        return
    if found.seeds == 1:
        yield (
            "One seed cannot separate strategies: another seed may well order them differently. "
            f"Run at least {MIN_SEEDS_TO_CLAIM} seeds before choosing by this."
        )
    elif found.seeds < MIN_SEEDS_TO_CLAIM:
        yield (
            f"With fewer than {MIN_SEEDS_TO_CLAIM} seeds no significance can be claimed: "
            "read the order as a hint."
        )
    else:
        yield "The intervals are of each mean on its own; no test of the difference is made here."


def caveats(analysis: Analysis, unit: units.ComputeUnit) -> list[str]:
    """What weakens the verdict, one sentence each."""
    run = analysis.run
    lines = []
    if analysis.verdict.best and analysis.verdict.left_out:
        lines.append(
            f"Not compared, having a score for fewer seeds: {_listed(analysis.verdict.left_out)}."
        )
    lines += [f"{name}, seed {seed}: {reason}." for (name, seed), reason in run.problems.items()]
    lines += [
        f"{name}, seed {seed} has no retrainings: {reason}."
        for (name, seed), reason in run.not_retrained.items()
    ]
    for (name, seed), cell in run.cells.items():
        record = cell.record
        if record.status == "failed":
            lines.append(f"{name}, seed {seed} failed: {record.reason}.")
        elif record.held_device_seconds < (1 - UNSPENT_SHARE) * record.budget_device_seconds:
            lines.append(
                f"{name}, seed {seed} held {unit.text(record.held_device_seconds)} of "
                f"{unit.number(record.budget_device_seconds)}: {record.reason}."
            )
    counts = {status: int(analysis.savings[status].sum()) for status in ("failed", "diverged")}
    bad = [f"{units.counted(n, 'trial')} {status}" for status, n in counts.items() if n]
    if bad:
        lines.append(
            f"{_listed(bad)}; the device time is charged to the strategies that caused it."
        )
    outside = analysis.focus.outside if analysis.focus else ()
    if outside:
        lines.append(
            f"{_listed(outside)} ended too far from the best to be on the axis of the first figure."
        )
    study = analysis.run.study
    if study.executor == "virtual":
        lines.append(
            "Nothing ran on real devices: Ray Tune's own controller, schedulers and searchers took "
            "every decision, on a virtual clock."
        )
        if not study.is_deterministic:
            lines.append(
                "Searchers were charged the time they really took: another run of the same study "
                "gives other numbers."
            )
    lines += study.benchmark.caveats
    if study.git_dirty:
        lines.append("The harness had uncommitted changes when this ran.")
    return [*lines, *analysis.inconsistencies]


def method_notes(analysis: Analysis) -> list[str]:
    """How to read the numbers, as far as it matters for the strategies that ran."""
    study = analysis.run.study
    is_virtual = study.executor == "virtual"
    cores = "CPU cores" if study.devices.kind == "CPU" else "GPUs"
    virtual = "virtual " if is_virtual else ""
    notes = [
        f"Compute is devices held × seconds, devices being {virtual}{cores}, from the moment the "
        "cell's worker groups were ready until the budget was spent: training, evaluation, "
        "checkpoints, restores, failed trials and idle devices all count. The first start of the "
        "worker groups is the same for every strategy: "
        f"{'taken from the costs below' if is_virtual else 'measured'}, shown as set-up, not "
        "billed.",
        "At the budget, trials in flight stop at once, and what they had not reported counts for "
        "no strategy.",
        "The incumbent is the best configuration so far by validation score. NaN and ±∞ are never "
        "incumbents; of equal scores the earlier stays. Curves carry the last known incumbent "
        "forward and have no value before the first report.",
    ]
    if study.costs is not None:
        notes.append(_virtual_time(study.costs))
    if analysis.by_test:
        notes.append(
            "The test score is that of the incumbent's checkpoint, chosen by validation score; no "
            "searcher or scheduler saw test data."
        )
    notes += [
        "Run-to-completion epochs are the epochs run plus what each trial stopped by the scheduler "
        "still had to go to the cap. Trials that were cut, failed or diverged save nothing and are "
        "shown apart; epochs repeated after a failure count as run. Epoch savings are not savings "
        "of device time.",
    ]
    if any(strategy.stops_early for strategy in study.strategies):
        notes.append(
            "Ray's ASHA is the stopping variant: a trial is judged when it arrives at a rung, "
            "against those that came before it, so its decisions depend on the order of arrival. "
            "The synchronous ideal is successive halving that waits for each rung to fill, with "
            "as many trials."
        )
        notes.append(
            "A trial that the scheduler stops is told to Optuna and HyperOpt as complete, with its "
            "partial score."
        )
    notes.append(
        "Failures, NaN and ±∞ are told to every searcher the same way: as the worst finite score "
        "seen so far in the cell."
    )
    return notes


def _virtual_time(costs: Mapping[str, float | int | str]) -> str:
    seconds = [
        f"{name.removesuffix('_seconds').replace('_', ' ')} {value:g} s"
        for name, value in costs.items()
        if name.endswith("_seconds") and isinstance(value, float | int)
    ]
    return (
        "The virtual clock: an epoch takes what the benchmark declares or has recorded, divided by "
        "the devices of its slot; where that is processor time, times "
        f"{costs.get('epoch_stretch', 1.0):g}, as a worker of a cluster has no core to itself. The "
        f"rest is charged as measured ({costs.get('source')}): {', '.join(seconds)}."
    )


def band_note(seeds: int) -> str:
    """What the bands of the score figure are."""
    if seeds == 1:
        return "One seed: no band."
    if seeds < MIN_SEEDS_FOR_INTERVAL_BAND:
        return f"Band: the range over {seeds} seeds."
    return f"Band: the 95 % t-interval of the mean over {seeds} seeds."


def _listed(names: Iterable[str]) -> str:
    *first, last = list(names)
    return f"{', '.join(first)} and {last}" if first else last
