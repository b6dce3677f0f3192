"""The cells that checks are made of: healthy ones and faulty ones, on the same seeds, each pool a
study of the command line's own, in a folder that is gone on with when the script is run again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
TABLE, QUADRATIC = "fashion_mnist_table", "noisy_quadratic"
HARTMANN, SLOW = "hartmann_power_law", "slow_starters"
MATRIX = ("random/fifo", "random/asha", "optuna/fifo", "optuna/asha", "hyperopt/asha", "pbt")
PATIENT = "random/asha-patient"


@dataclass(frozen=True)
class Pool:
    """``benchmark`` with ``strategies``, on ``seeds`` seeds."""

    name: str
    benchmark: str
    strategies: tuple[str, ...]
    seeds: int

    def command(self, out: Path) -> list[str]:
        return [
            sys.executable, "-m", "harness", "run", "--executor", "virtual",
            "--strategies", ",".join(self.strategies), "--benchmark", self.benchmark,
            "--strategy-file", str(HERE / "faulty_strategies.py"),
            "--benchmark-file", str(HERE / "faulty_benchmarks.py"),
            "--seeds", str(self.seeds), "--out", str(out),
        ]  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """``strategies``: faulty ones of the pool ``faulty``, by the healthy one's name in the pool
    ``healthy``; what is not named is as before."""

    title: str
    healthy: str
    faulty: str
    strategies: dict[str, str] = field(default_factory=dict)


HEALTHY_SEEDS, FAULTY_SEEDS = 300, 80
POOL_BENCHMARKS = {"quadratic": QUADRATIC, "hartmann": HARTMANN, "slow starters": SLOW}
ON_QUADRATIC = ("random/asha", "pbt")
"""The strategies of the committed baselines, as :data:`MATRIX` on the table."""
ON_HARTMANN = ("optuna/fifo", "hyperopt/asha")
OPTUNA = ("optuna/fifo", "optuna/asha")
ASHA = ("random/asha", "optuna/asha", "hyperopt/asha")


def _planted(fault: str, strategies: tuple[str, ...]) -> dict[str, str]:
    return {name: f"{name}!{fault}" for name in strategies}


def _in_benchmark(title: str, benchmark: str) -> Fault:
    return Fault(title, "table", benchmark, {name: name for name in MATRIX})


def _in_strategy(title: str, fault: str, strategies: tuple[str, ...]) -> Fault:
    return Fault(title, "table", "table faults", _planted(fault, strategies))


def _same_on(pool: str, fault: str, strategies: tuple[str, ...]) -> Fault:
    return Fault(f"The same on {POOL_BENCHMARKS[pool]}", pool, pool, _planted(fault, strategies))


FAULTS = (
    _in_strategy("Optuna is told of no finished trial", "history-lost", OPTUNA),
    _same_on("hartmann", "history-lost", ("optuna/fifo",)),
    _in_strategy("Optuna is told the negated score", "score-negated", OPTUNA),
    _same_on("hartmann", "score-negated", ("optuna/fifo",)),
    _in_strategy("Optuna's seed is lost", "seed-lost", OPTUNA),
    _in_strategy("HyperOpt is told the negated score", "score-negated", ("hyperopt/asha",)),
    _same_on("hartmann", "score-negated", ("hyperopt/asha",)),
    _in_strategy("ASHA with its mode flipped", "mode-flipped", ASHA),
    _in_strategy("ASHA never stops a trial", "never-stops", ASHA),
    _in_strategy(
        "Four times the concurrency limit", "limit-ignored", (*OPTUNA, "hyperopt/asha")
    ),
    _same_on("hartmann", "limit-ignored", ON_HARTMANN),
    Fault(
        "ASHA's grace period of 3 ignored", "table faults", "table faults",
        _planted("grace-ignored", (PATIENT,)),
    ),
    _same_on("slow starters", "grace-ignored", (PATIENT,)),
    _in_strategy("PBT copies no weights", "weights-not-copied", ("pbt",)),
    _same_on("quadratic", "weights-not-copied", ("pbt",)),
    _in_strategy("PBT never perturbs", "never-perturbs", ("pbt",)),
    _same_on("quadratic", "never-perturbs", ("pbt",)),
    _in_benchmark("Learning rate times ten", "table-lr-decade"),
    Fault(
        f"The same on {QUADRATIC}", "quadratic", "quadratic-lr-decade",
        {name: name for name in ON_QUADRATIC},
    ),
    _in_benchmark("Validation on training data", "table-train-score"),
    _in_benchmark("Every other batch left out", "table-half-epochs"),
    _in_benchmark("Epochs 30 % slower", "table-slower"),
)  # fmt: skip


def _faulty_of(pool: str) -> tuple[str, ...]:
    named = [f.strategies for f in FAULTS if f.faulty == pool]
    both = [name for s in named for pair in s.items() for name in pair if name not in MATRIX]
    return tuple(dict.fromkeys(both))


POOLS = {
    pool.name: pool
    for pool in (
        Pool("table", TABLE, MATRIX, HEALTHY_SEEDS),
        Pool("table faults", TABLE, _faulty_of("table faults"), FAULTY_SEEDS),
        Pool("slow starters", SLOW, _faulty_of("slow starters"), FAULTY_SEEDS),
        Pool("quadratic", QUADRATIC, (*ON_QUADRATIC, *_faulty_of("quadratic")), FAULTY_SEEDS),
        Pool("hartmann", HARTMANN, (*ON_HARTMANN, *_faulty_of("hartmann")), FAULTY_SEEDS),
        Pool("quadratic-lr-decade", "quadratic-lr-decade", ON_QUADRATIC, FAULTY_SEEDS),
        *(
            Pool(name, name, MATRIX, FAULTY_SEEDS)
            for name in (
                "table-lr-decade",
                "table-train-score",
                "table-half-epochs",
                "table-slower",
            )
        ),
    )
}


def record(folder: Path, say: Callable[[str], None] = print) -> dict[str, Path]:
    """Run what is missing; pool → run folder."""
    runs = {}
    for pool in POOLS.values():
        runs[pool.name] = out = folder / pool.name.replace(" ", "-")
        say(f"{pool.name}: {len(pool.strategies)} strategies × {pool.seeds} seeds, in {out}")
        subprocess.run(pool.command(out), check=True)
    return runs
