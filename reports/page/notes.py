"""What the page says in sentences: the verdict, what weakens it, how the numbers were made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from reports import units
from reports.analysis import Analysis
from reports.analysis.curves import MIN_SEEDS_FOR_INTERVAL_BAND
from reports.analysis.ranking import Verdict
from reports.run import CellKey
from reports.statistics import MIN_PAIRS_TO_CLAIM

UNSPENT_SHARE = 0.02
"""A strategy that left more than this of its budget unspent is named."""


def verdict_sentences(analysis: Analysis, unit: units.ComputeUnit) -> list[str]:
    """Who is ahead, by how much, and whether that can be claimed; the first is the headline."""
    study, found = analysis.run.study, analysis.verdict
    metric = study.benchmark.test_metric if analysis.by_test else study.benchmark.metric
    if found.best is None:
        return [f"No strategy has a finite {study.benchmark.metric}: there is nothing to compare."]
    mean = "" if found.seeds == 1 else f", the mean of {found.seeds} seeds"
    score = f"{units.score(found.score)}{mean}{_interval(found)}"
    if found.runner_up is None:
        return [f"{found.best} has the only {metric} of an incumbent: {score}."]
    budget = unit.text(study.budget_device_seconds)
    with_seeds = f"with {units.counted(found.seeds, 'seed')}"
    next_one = _next_one(found)
    if not found.ties:
        ahead = f"by {_difference(found)}" if found.difference else "by nothing"
        return [
            f"{found.best} is the best strategy at {budget}: {ahead} ahead of {found.runner_up}, "
            f"the next one, in {metric}.",
            f"It reaches {score}.",
        ]
    if len(found.ties) == found.rivals:
        headline = f"No strategy can be told from the others at {budget} {with_seeds}."
        if found.rivals == 1:
            headline = (
                f"{found.best} and {found.runner_up} cannot be told apart at {budget} {with_seeds}."
            )
        leads = f"{found.best} has the best {metric}: {score}."
        if found.difference == 0:
            leads = f"{found.best} and {found.runner_up} share the best {metric}: {score}."
            next_one = ""
    else:
        headline = (
            f"{found.best} leads at {budget}; {_listed(found.ties)} cannot be told from it "
            f"{with_seeds}."
        )
        beaten = units.counted(found.rivals - len(found.ties), "other strategy", "other strategies")
        leads = f"{found.best} has the best {metric}: {score}; it is better than {beaten}."
    return [sentence for sentence in (headline, leads, next_one, _claim(found)) if sentence]


def _interval(found: Verdict) -> str:
    if math.isnan(found.low):
        return ""
    kind = "range" if found.seeds == 2 else "95 % t-interval"
    return f" ({kind} {units.score(found.low)} to {units.score(found.high)})"


def _next_one(found: Verdict) -> str:
    return f"{found.runner_up} comes next, {_difference(found)} behind."


def _difference(found: Verdict) -> str:
    gap = units.difference(found.difference)
    if math.isnan(found.difference_low):
        return gap
    low, high = units.difference(found.difference_low), units.difference(found.difference_high)
    return f"{gap} (95 % interval {low} to {high}, paired over {found.pairs} seeds)"


def _claim(found: Verdict) -> str:
    """What more seeds would do."""
    if found.seeds == 1:
        return (
            "One seed cannot separate strategies: another seed may well order them differently. "
            f"Run at least {MIN_PAIRS_TO_CLAIM} seeds before choosing by this."
        )
    needed = found.seeds_needed
    if needed is None:
        enough = (
            "The two are so close that no number of seeds that one would run is likely to tell "
            "them apart: choose by cost or taste."
        )
    else:
        enough = (
            f"About {needed:,} seeds would tell {found.best} from {found.runner_up} in four of "
            "five such studies, if their difference and its spread are as seen here."
        )
    if found.seeds < MIN_PAIRS_TO_CLAIM:
        return (
            f"With fewer than {MIN_PAIRS_TO_CLAIM} seeds no significance can be claimed: "
            f"read the order as a hint. {enough}"
        )
    return enough


def caveats(analysis: Analysis, unit: units.ComputeUnit) -> list[str]:
    """What weakens the verdict, one sentence each."""
    run = analysis.run
    lines = []
    if analysis.verdict.best and analysis.verdict.left_out:
        lines.append(
            f"Not compared, having a score for fewer seeds: {_listed(analysis.verdict.left_out)}."
        )
    lines += [f"{name} was left out: {reason}." for name, reason in run.study.left_out.items()]
    lines += [f"{cells}: {reason}." for cells, reason in _by_reason(run.problems.items())]
    lines += [
        f"{cells} without retrainings: {reason}."
        for cells, reason in _by_reason(run.not_retrained.items())
    ]
    failed, unspent = [], []
    for key, cell in run.cells.items():
        record = cell.record
        if record.status == "failed":
            failed.append((key, record.reason))
        elif record.held_device_seconds < (1 - UNSPENT_SHARE) * record.budget_device_seconds:
            held = unit.text(record.held_device_seconds)
            budget = unit.number(record.budget_device_seconds)
            unspent.append((key, f"{held} of {budget}: {record.reason}"))
    lines += [f"{cells} failed: {reason}." for cells, reason in _by_reason(failed)]
    lines += [f"{cells} held {reason}." for cells, reason in _by_reason(unspent)]
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
        "incumbents, nor is what a trial reported before it failed; of equal scores the earlier "
        "stays. Curves carry the last known incumbent forward and have no value before the first "
        "report.",
    ]
    if not study.is_deterministic:
        notes.append(
            "A seed gives every strategy, and every run of the study, the same start: training "
            "seed, split of the data, space, devices. The order of events is the machine's own, "
            "so another run of the same seed need not give the same trials or scores."
        )
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
    if len(study.seeds) > 1:
        notes.append(
            "Differences are of means over seeds. Where one strategy is rarely, but badly, worse "
            "than another, few seeds may show nothing of it: look at the single cells as well."
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


def _by_reason(cells: Iterable[tuple[CellKey, str]]) -> list[tuple[str, str]]:
    """(``random/fifo, seeds 0 and 2``, reason): cells of a strategy with the same reason as one."""
    groups: dict[tuple[str, str], list[int]] = {}
    for (strategy, seed), reason in cells:
        groups.setdefault((strategy, reason), []).append(seed)
    return [
        (f"{name}, seed{'' if len(seeds) == 1 else 's'} {_listed(map(str, seeds))}", reason)
        for (name, reason), seeds in groups.items()
    ]


def _listed(names: Iterable[str]) -> str:
    *first, last = list(names)
    return f"{', '.join(first)} and {last}" if first else last
