"""How often `harness check` is wrong: false alarms and inconclusive checks where nothing changed,
planted faults that it finds, and the smallest loss that it finds.

    python -m benchmarks.perf.check_calibration [--pools runs/check_calibration]

The first run records 6,400 cells on the virtual clock (most of an hour on two cores), and
goes on where an earlier one stopped; what is there is not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.perf.check_calibration.pools import FAULTS, MATRIX, record
from benchmarks.perf.check_calibration.rates import (
    CHECKS,
    REPETITIONS,
    SEED_COUNTS,
    detection,
    false_alarms,
    smallest_effects,
)
from harness.check.baseline import Baseline, make_baseline, read_baseline, write_baseline
from harness.check.measures import MEASURES
from reports.analysis import analyse
from reports.store import read_run

BASELINES = ("table", "quadratic", "hartmann")
"""The pools that stand for the committed baselines."""
SHORT = {measure.name: measure.title for measure in MEASURES}


def numbers_of(run: Path) -> Baseline:
    """A pool's numbers, which take minutes to make, kept beside its folder."""
    kept = run.with_suffix(".json")
    if not kept.exists():
        write_baseline(make_baseline(analyse(read_run(run))), kept)
    return read_baseline(kept)


def table(header: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join(['---'] * len(header))} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def share(value: float) -> str:
    return f"{100 * value:.3g} %"


def alarm_lines(pools: dict[str, Baseline]) -> Iterator[str]:
    """Unchanged strategies on other seeds."""
    rows = []
    for name in BASELINES:
        for seeds in SEED_COUNTS:
            found = false_alarms(_healthy(pools[name]), seeds)
            rows.append(
                [name, str(seeds), *(share(found.any_of.get(mark, 0.0)) for mark in "-?+~")]
            )
    yield from table(
        ["matrix", "seeds", "any worse", "any inconclusive", "any better", "any same"], rows
    )
    found = false_alarms(pools["table"], SEED_COUNTS[-1])
    yield from table(
        ["measure", "same", "inconclusive"],
        [
            [SHORT[name], share(marks.get("~", 0.0)), share(marks.get("?", 0.0))]
            for name, marks in found.rows.items()
        ],
    )


def _healthy(pool: Baseline) -> Baseline:
    cells = {name: cells for name, cells in pool.cells.items() if name in MATRIX}
    return pool.model_copy(update={"cells": cells})


def fault_lines(pools: dict[str, Baseline]) -> Iterator[str]:
    rows = []
    for fault in FAULTS:
        found = detection(fault, pools)
        effects = "; ".join(
            f"{SHORT[name]} {size:+.2g} ({strategy})"
            for name, (strategy, size) in sorted(found.effect.items(), key=lambda item: item[1][1])
        )
        shown = ", ".join(
            f"{SHORT[name]} {share(part)}"
            for name, part in sorted(found.measures.items(), key=lambda item: -item[1])
        )
        rows.append(
            [
                fault.title,
                *(share(part) for part in found.caught.values()),
                shown or "–",
                effects or "–",
                share(found.better),
            ]
        )
    yield from table(
        [
            "fault",
            *(f"{seeds} seeds" for seeds in SEED_COUNTS),
            f"shown by, at {SEED_COUNTS[-1]}",
            "largest loss by measure, in margins",
            "only better",
        ],
        rows,
    )


def effect_lines(pools: dict[str, Baseline]) -> Iterator[str]:
    rows = []
    for name in BASELINES:
        found = [smallest_effects(_healthy(pools[name]), seeds) for seeds in SEED_COUNTS]
        for strategy, measure in found[-1]:
            losses = [effects[strategy, measure] for effects in found]
            rows.append([name, SHORT[measure], strategy, *(f"{loss:.3g}" for loss in losses)])
    rows.sort(key=lambda row: (BASELINES.index(row[0]), row[1]))
    yield from table(["matrix", "measure", "strategy", *(f"{n} seeds" for n in SEED_COUNTS)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pools", type=Path, default=Path("runs/check_calibration"))
    given = parser.parse_args()
    pools = {name: numbers_of(run) for name, run in record(given.pools).items()}
    print(f"\n{CHECKS} checks of unchanged strategies on other seeds\n")
    print("\n".join(alarm_lines(pools)))
    print(f"{REPETITIONS} checks of each planted fault\n")
    print("\n".join(fault_lines(pools)))
    print(f"Smallest loss called in 80 % of {CHECKS} checks, in the measure's unit\n")
    print("\n".join(effect_lines(pools)))


if __name__ == "__main__":
    main()
