"""How good a table's surrogate is, on configurations that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.recorded.surrogate.groups import Curves, as_arrays
from benchmarks.recorded.surrogate.model import Surrogate
from benchmarks.recorded.table import SECONDS, RecordedTable
from harness.contract import UsageError
from harness.contract.records import Record

Array = NDArray[np.float64]

ACCURACY_FORMAT_VERSION: Final = 1
FOLDS = 10
DRAWS = 30
"""Seeds with which a configuration's noise is reproduced."""


class Fit(Record):
    """Of held-out predictions: R² and Spearman's rank correlation; NaN where nothing varies."""

    r2: float
    spearman: float


class SeedSpread(Record):
    """Standard deviation over seeds of a configuration's final score: over configurations, the
    median and the root mean square (which a few unstable ones make large)."""

    median: float
    rms: float


class Accuracy(Record):
    """Configurations, not curves, are held out: one in ``folds`` at a time, and predicted without
    noise. ``between_seeds``: how well one recorded seed's final scores predict another's, which no
    surrogate can pass by much."""

    format_version: Literal[1] = ACCURACY_FORMAT_VERSION
    benchmark: str
    configs: int
    curves: int
    folds: int
    final_score: Fit
    score_by_epoch: list[Fit]
    epoch_seconds: Fit
    between_seeds: Fit | None
    recorded_seed_sd: SeedSpread | None
    reproduced_seed_sd: SeedSpread | None


def measure_accuracy(
    table: RecordedTable, on_fold: Callable[[], object] = lambda: None
) -> Accuracy:
    """Cross-validate; ``on_fold`` is called after each of :data:`FOLDS`.

    Only configurations whose curves are all finite in their first epoch take part.

    Raises:
        UsageError: fewer configurations than two per fold.
    """
    trained = [c for c in table.curves if np.isfinite(c.epochs[0].validation_score)]
    curves = as_arrays(trained, table.record.benchmark.max_epochs)
    count = len(curves.configs)
    if count < 2 * FOLDS:
        raise UsageError(
            f"the table has {count} configurations with finite scores; holding some out takes at "
            f"least {2 * FOLDS}: record more"
        )
    fold_of = np.random.default_rng(0).permutation(count) % FOLDS
    scores = np.empty((count, table.record.benchmark.max_epochs))
    seconds = np.empty(count)
    reproduced = np.full(count, np.nan)
    repeated = curves.counts > 1
    for fold in range(FOLDS):
        held_out = {number for number in range(count) if fold_of[number] == fold}
        kept = [c for c, owner in zip(trained, curves.owner, strict=True) if owner not in held_out]
        surrogate = Surrogate(RecordedTable(table.record, tuple(kept)))
        for number in held_out:
            mean = surrogate.mean_curves(curves.configs[number])
            scores[number] = mean["validation_score"]
            seconds[number] = sum(float(mean[column].mean()) for column in SECONDS)
            if repeated[number]:
                tracks = [surrogate.predict(curves.configs[number], s) for s in range(DRAWS)]
                finals = [_last_finite(track["validation_score"]) for track in tracks]
                reproduced[number] = np.std(finals, ddof=1)
        on_fold()
    recorded = curves.means(curves.values["validation_score"])
    by_epoch = [_fit(scores[:, e], recorded[:, e]) for e in range(scores.shape[1])]
    mean_seconds = sum(curves.means(curves.values[column]).mean(axis=1) for column in SECONDS)
    return Accuracy(
        benchmark=table.record.benchmark.name,
        configs=count,
        curves=len(trained),
        folds=FOLDS,
        final_score=by_epoch[-1],
        score_by_epoch=by_epoch,
        epoch_seconds=_fit(seconds, np.asarray(mean_seconds)),
        between_seeds=_between_seeds(curves),
        recorded_seed_sd=_spread(_recorded_sd(curves)[repeated]),
        reproduced_seed_sd=_spread(reproduced[repeated]),
    )


def _last_finite(values: list[float]) -> float:
    return [value for value in values if np.isfinite(value)][-1]


def _fit(predicted: Array, recorded: Array) -> Fit:
    varies = recorded.std() > 0
    error = ((predicted - recorded) ** 2).sum()
    return Fit(
        r2=float(1 - error / ((recorded - recorded.mean()) ** 2).sum()) if varies else np.nan,
        spearman=float(spearmanr(predicted, recorded)[0]) if varies and predicted.std() else np.nan,
    )


def _between_seeds(curves: Curves) -> Fit | None:
    finals = curves.values["validation_score"][:, -1]
    pairs = [
        np.flatnonzero(curves.owner == number)[:2] for number in np.flatnonzero(curves.counts > 1)
    ]
    if len(pairs) < 2:
        return None
    one, other = np.array(pairs).T
    return _fit(finals[one], finals[other])


def _recorded_sd(curves: Curves) -> Array:
    """(n,): over each configuration's curves."""
    finals = curves.values["validation_score"][:, -1]
    away = finals - curves.means(finals)[curves.owner]
    sums = curves.means(away * away) * curves.counts
    return np.sqrt(sums / np.maximum(curves.counts - 1, 1))


def _spread(sds: Array) -> SeedSpread | None:
    if not sds.size:
        return None
    return SeedSpread(median=float(np.median(sds)), rms=float(np.sqrt((sds**2).mean())))
