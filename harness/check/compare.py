"""A baseline against a newer one: what can be compared, row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.check.baseline import Baseline, CellNumbers, IncomparableError, first_difference
from harness.check.decide import Pairs
from harness.check.measures import MEASURES, Margin, Measure
from harness.contract.check import FirstDifference
from reports.merge import question


@dataclass(frozen=True)
class Changes:
    """What changed around the numbers, and where decisions first did.

    ``removed``, ``added``: strategies that only the baseline, only the run has; ``versions``: name
    → (before, after); ``identical``: cells of which every event is the same; ``compared``: cells
    that both have.
    """

    benchmark: str
    metric: str
    removed: list[str]
    added: list[str]
    versions: dict[str, tuple[str | None, str | None]]
    first_differences: list[FirstDifference]
    identical: int
    compared: int


def check_same_question(before: Baseline, after: Baseline) -> None:
    """Raises :class:`IncomparableError` where the two studies differ in what they ask."""
    one, other = _question(before), _question(after)
    different = [name for name in one if one[name] != other.get(name)]
    if different:
        listed = "; ".join(_difference(name, one[name], other.get(name)) for name in different)
        raise IncomparableError(
            f"the run is not comparable with the baseline ({listed}): run the baseline's own study "
            "(leave RUN out), or make a new baseline with `python -m harness baseline`"
        )


def _question(baseline: Baseline) -> dict[str, Any]:
    """The targets too: the time to them is compared."""
    study = baseline.study
    return {**question(study), "benchmark targets": study.benchmark.targets}


def _difference(name: str, before: Any, after: Any) -> str:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return "; ".join(_difference(f"{name} {k}", before.get(k), after.get(k)) for k in keys)
    return f"{name.replace('_', ' ')}: {before} before, {after} now"


def pair_up(before: Baseline, after: Baseline, margins: Mapping[str, Margin]) -> list[Pairs]:
    """A row per strategy of either and measure, on the seeds that both finished."""
    names = list(dict.fromkeys([*before.cells, *after.cells]))
    is_same_machine = _is_same_machine(before, after)
    rows = []
    for name in names:
        old, new = _by_seed(before, name), _by_seed(after, name)
        problem = None
        if not old:
            problem = "the baseline lacks this strategy: make a new baseline to include it"
        elif not new:
            problem = "the run lacks this strategy: it was removed, or left out"
        failed = None if problem else _newly_failed(old, new)
        target = _target_index(before, old)
        for measure in MEASURES:
            a, b = (_values(cells, measure, target, before) for cells in (old, new))
            seeds = tuple(sorted(a.keys() & b.keys()))
            row_problem = problem
            if row_problem is None and measure.is_time and not is_same_machine:
                row_problem = "times of two machines do not compare"
            if row_problem is None and not seeds and failed is None:
                row_problem = "no seed has this number in both"
            rows.append(
                Pairs(
                    strategy=name,
                    measure=measure,
                    margin=margins[measure.name],
                    mode=before.study.benchmark.mode,
                    seeds=seeds,
                    before=tuple(a[seed] for seed in seeds),
                    after=tuple(b[seed] for seed in seeds),
                    problem=row_problem,
                    failed=failed,
                )
            )
    return rows


def _is_same_machine(before: Baseline, after: Baseline) -> bool:
    """Virtual times are the same everywhere."""
    if before.study.executor == "virtual":
        return True
    return before.study.machine == after.study.machine


def _by_seed(baseline: Baseline, strategy: str) -> dict[int, CellNumbers]:
    return {int(seed): cell for seed, cell in baseline.cells.get(strategy, {}).items()}


def _newly_failed(old: Mapping[int, CellNumbers], new: Mapping[int, CellNumbers]) -> str | None:
    bad = [
        seed
        for seed, cell in old.items()
        if cell.status == "completed" and seed in new and new[seed].status != "completed"
    ]
    if not bad:
        return None
    first = new[bad[0]]
    return f"{len(bad)} cell(s) {first.status} that were completed before: {first.reason}"


def _target_index(baseline: Baseline, cells: Mapping[int, CellNumbers]) -> int | None:
    """The hardest target that at least half of the baseline's cells reached: with a harder one
    there is little to compare, an easier one says little."""
    done = [cell for cell in cells.values() if cell.status == "completed"]
    for index in reversed(range(len(baseline.study.benchmark.targets))):
        reached = sum(
            index < len(cell.target_seconds) and cell.target_seconds[index] is not None
            for cell in done
        )
        if 2 * reached >= len(done) > 0:
            return index
    return None


def _values(
    cells: Mapping[int, CellNumbers], measure: Measure, target: int | None, baseline: Baseline
) -> dict[int, float]:
    values = {}
    for seed, cell in cells.items():
        if cell.status != "completed":
            continue
        value = _value(cell, measure, target, baseline.study.budget_device_seconds)
        if value is not None and math.isfinite(value):
            values[seed] = value
    return values


def _value(cell: CellNumbers, measure: Measure, target: int | None, budget: float) -> float | None:
    if measure.name != "device_hours_to_target":
        value: float | None = getattr(cell, measure.name)
        return value
    if target is None or target >= len(cell.target_seconds):
        return None
    reached = cell.target_seconds[target]
    # Restricted: who never got there needed the budget at least.
    return budget if reached is None else min(reached, budget)


def changes(before: Baseline, after: Baseline) -> Changes:
    versions = {
        name: (before.study.versions.get(name), after.study.versions.get(name))
        for name in {**before.study.versions, **after.study.versions}
        if before.study.versions.get(name) != after.study.versions.get(name)
    }
    first, identical, compared = [], 0, 0
    for name, cells in before.cells.items():
        for seed, cell in cells.items():
            other = after.cells.get(name, {}).get(seed)
            if other is None or "missing" in (cell.status, other.status):
                continue
            compared += 1
            identical += cell.events_sha256 == other.events_sha256
            if (trial := first_difference(cell, other)) is not None:
                first.append(FirstDifference(strategy=name, seed=int(seed), trial=trial))
    return Changes(
        benchmark=before.study.benchmark.name,
        metric=before.metric,
        removed=[name for name in before.cells if name not in after.cells],
        added=[name for name in after.cells if name not in before.cells],
        versions=versions,
        first_differences=first,
        identical=identical,
        compared=compared,
    )
