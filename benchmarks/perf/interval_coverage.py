"""How often 95 % intervals contain the truth, and how often Holm's tests err, by simulation.

Scores over seeds are drawn from three distributions like those of real studies; the truth is the
value over four million draws. Ten thousand studies per figure: its standard error is at most half
a percentage point. Prints the tables of ``docs/statistics.md``; takes a minute and a half of CPU.

    python -m benchmarks.perf.interval_coverage
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reports.statistics import holm, t_half_width, wilson_interval
from reports.statistics.intervals import TRIMMED

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

STEADY = 0.1
"""The spread of a strategy that hardly depends on the seed, beside another one's."""

STUDIES, POPULATION = 10_000, 4_000_000
RESAMPLES, RESAMPLINGS = 1000, 100
SEEDS = (3, 5, 10, 30)
FAMILY, FAMILY_SEEDS, ALPHA = 6, (3, 6, 10, 30), 0.05


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.normal(size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Most seeds good, few bad, and some of them very: skewness -6.2."""
    return -rng.lognormal(size=shape)


def two_peaks(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Four seeds of five find the good region, one does not; within each they differ little."""
    return 0.1 * rng.normal(size=shape) - (rng.random(shape) < 0.2)


@dataclass(frozen=True)
class Scores:
    """How a strategy's scores are distributed over seeds; ``mean`` and ``sd`` are exact."""

    draw: Draw
    mean: float
    sd: float

    def normal(self, rng: np.random.Generator, shape: tuple[int, ...], spread: float) -> Array:
        """Normal scores of the same mean, and of ``spread`` times the standard deviation."""
        return rng.normal(self.mean, spread * self.sd, shape)


LOGNORMAL = stats.lognorm(1)
DISTRIBUTIONS = {
    "normal": Scores(normal, 0.0, 1.0),
    "skewed": Scores(skewed, -LOGNORMAL.mean(), LOGNORMAL.std()),
    "two peaks": Scores(two_peaks, -0.2, math.sqrt(0.1**2 + 0.2 * 0.8)),
}


def mean(values: Array, axis: int) -> Array:
    found: Array = values.mean(axis=axis)
    return found


def trimmed_mean(values: Array, axis: int) -> Array:
    found: Array = stats.trim_mean(values, TRIMMED, axis=axis)
    return found


def covered(low: Any, high: Any, truth: float) -> float:
    """Share of intervals that contain the truth; one that could not be computed does not."""
    return float(((low <= truth) & (truth <= high)).mean())


def student(values: Array, truth: float) -> float:
    """Shape (seeds, studies)."""
    centre, half = values.mean(axis=0), t_half_width(values)
    return covered(centre - half, centre + half, truth)


def bootstrap(
    values: Array, statistic: Callable[..., Array], truth: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentile (as ``bootstrap_interval`` has SciPy make it) and BCa, from the same resamples."""
    options: dict[str, Any] = {"axis": 0, "vectorized": True, "rng": rng}
    found = []
    # SciPy draws the same seeds in all studies of a call: what is random in that must average out.
    for studies in np.split(values, RESAMPLINGS, axis=1):
        drawn = stats.bootstrap(
            (studies,), statistic, n_resamples=RESAMPLES, method="percentile", **options
        )
        with np.errstate(all="ignore"):
            corrected = stats.bootstrap(
                (studies,),
                statistic,
                n_resamples=0,
                method="BCa",
                bootstrap_result=drawn,
                **options,
            )
        limits = [intervals.confidence_interval for intervals in (drawn, corrected)]
        found.append([covered(interval.low, interval.high, truth) for interval in limits])
    percentile, bias_corrected = np.mean(found, axis=0)
    return float(percentile), float(bias_corrected)


def wilson(better: NDArray[np.bool_], truth: float) -> float:
    """Shape (seeds, studies)."""
    seeds = len(better)
    found = [wilson_interval(count, seeds) for count in range(seeds + 1)]
    counts = better.sum(axis=0)
    low, high = (np.array([getattr(i, end) for i in found])[counts] for end in ("low", "high"))
    return covered(low, high, truth)


def coverage(scores: Scores, seeds: int, rng: np.random.Generator) -> dict[str, float]:
    """Of every interval, by name, for one distribution."""
    population = scores.draw(rng, (POPULATION,))
    shape = (seeds, STUDIES)
    values = scores.draw(rng, shape)
    found = {"t, mean": student(values, scores.mean)}
    truths = {"mean": scores.mean, "interquartile mean": float(trimmed_mean(population, 0))}
    for (name, truth), statistic in zip(truths.items(), (mean, trimmed_mean), strict=True):
        percentile, corrected = bootstrap(values, statistic, truth, rng)
        found |= {
            f"percentile bootstrap, {name}": percentile,
            f"BCa bootstrap, {name}": corrected,
        }
    # What a seed does to both strategies alike is in neither difference nor order: left out here.
    others = {
        "both so distributed": scores.draw(rng, shape),
        "the other one normal": scores.normal(rng, shape, 1.0),
        "the other one steady": scores.normal(rng, shape, STEADY),
    }
    for name, other in others.items():
        found[f"paired t, {name}"] = student(values - other, 0.0)
    better = float((population + scores.sd > rng.permutation(population)).mean())
    ahead = scores.draw(rng, shape) + scores.sd > values
    return found | {"Wilson, probability of improvement": wilson(ahead, better)}


def family_error(scores: Array) -> tuple[float, float]:
    """How often strategies of equal means give any p ≤ 0.05: with Holm's correction, and without.

    Scores have shape (strategies, seeds, studies).
    """
    p_values = np.stack(
        [
            stats.ttest_rel(one, other, axis=0).pvalue
            for one, other in itertools.combinations(scores, 2)
        ]
    )
    corrected = np.array([holm(study).min() for study in p_values.T])
    return float((corrected <= ALPHA).mean()), float((p_values.min(axis=0) <= ALPHA).mean())


def family(name: str, others_spread: float | None) -> Callable[[int, np.random.Generator], Array]:
    """Six strategies of one distribution, or three of it and three normal ones of equal mean."""
    scores = DISTRIBUTIONS[name]

    def draw(seeds: int, rng: np.random.Generator) -> Array:
        shape = (FAMILY, seeds, STUDIES)
        if others_spread is None:
            return scores.draw(rng, shape)
        half = (FAMILY // 2, *shape[1:])
        return np.concatenate([scores.draw(rng, half), scores.normal(rng, half, others_spread)])

    return draw


FAMILIES = {
    "six normal": family("normal", None),
    "six skewed": family("skewed", None),
    "six with two peaks": family("two peaks", None),
    "three skewed, three normal": family("skewed", 1.0),
    "three with two peaks, three normal": family("two peaks", 1.0),
    "three skewed, three steady": family("skewed", STEADY),
    "three with two peaks, three steady": family("two peaks", STEADY),
}


def table(named: list[str], seeds: tuple[int, ...], rows: list[list[str]]) -> str:
    """Markdown: some columns of names, then one for each number of seeds."""
    header = [*named, *(f"{count} seeds" for count in seeds)]
    rule = ["---"] * len(named) + ["---:"] * len(seeds)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def main() -> None:
    started = time.process_time()
    rng = np.random.default_rng(0)
    found = {
        (name, seeds): coverage(scores, seeds, rng)
        for name, scores in DISTRIBUTIONS.items()
        for seeds in SEEDS
    }
    rows = [
        [interval, name, *(f"{found[name, seeds][interval]:.1%}" for seeds in SEEDS)]
        for interval in found["normal", SEEDS[0]]
        for name in DISTRIBUTIONS
    ]
    print(table(["95 % interval", "scores"], SEEDS, rows), end="\n\n")
    errors = {
        name: [family_error(draw(seeds, rng)) for seeds in FAMILY_SEEDS]
        for name, draw in FAMILIES.items()
    }
    rows = [
        [name, *(f"{corrected:.1%} ({bare:.1%})" for corrected, bare in row)]
        for name, row in errors.items()
    ]
    print(table(["scores: errs with Holm (without)"], FAMILY_SEEDS, rows), end="\n\n")
    print(f"{time.process_time() - started:.0f} s of CPU time")


if __name__ == "__main__":
    main()
