"""Best score vs compute: step curves over device-seconds, and their mean and band over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.contract import Mode
from reports.statistics import step_values, t_half_width

Values = NDArray[np.float64]

MIN_SEEDS_FOR_INTERVAL = 3
MIN_SEEDS_FOR_INTERVAL_BAND = 6
"""With fewer, t-intervals along whole curves are so wide that they hide each other."""


def mean_and_spread(
    values: Values, interval_from: int = MIN_SEEDS_FOR_INTERVAL
) -> tuple[Values, Values, Values]:
    """Mean, low and high over seeds (axis 0) of ``values``, shape (seeds, points).

    From ``interval_from`` seeds on low and high are the 95 % t-interval of the mean (a percentile
    bootstrap covers too little with so few); with fewer, the range; with one, NaN.
    """
    seeds = values.shape[0]
    mean: Values = values.mean(axis=0)
    if 2 <= seeds < interval_from:
        return mean, values.min(axis=0), values.max(axis=0)
    half = t_half_width(values)
    return mean, mean - half, mean + half


def mean_low_high(values: Values) -> tuple[float, float, float]:
    """:func:`mean_and_spread` of one number per seed; NaN without any."""
    if not len(values):
        return math.nan, math.nan, math.nan
    mean, low, high = (float(found[0]) for found in mean_and_spread(values[:, np.newaxis]))
    return mean, low, high


HELD, WALL = "held_device_seconds", "wall_s"
"""What a curve may be drawn over: the compute held so far, or the time since the cell's start with
its set-up."""


def score_curves(steps: pd.DataFrame, end: float, over: str = HELD) -> pd.DataFrame:
    """Best-so-far curves of each strategy, over seeds, at every place where one of them changes.

    Seeds are carried forward to ``end``. A strategy's curve begins where each of its seeds
    that ever had an incumbent has one: a mean over the early seeds alone would be of others.

    Args:
        steps: as from :func:`reports.analysis.incumbents.incumbent_steps`.
        end: the last place, in the unit of the column ``over`` (the budget, in device-seconds).

    Returns:
        ``strategy``, the column ``over``, ``validation``, ``low``, ``high`` (a t-interval
        from six seeds on, else the range), ``test`` (the mean test score of the same
        incumbents), ``seeds`` (how many the mean is over).
    """
    curves = [
        _strategy_curve(name, own, end, over) for name, own in steps.groupby("strategy", sort=False)
    ]
    if not curves:
        return pd.DataFrame(
            columns=["strategy", over, "validation", "low", "high", "test", "seeds"]
        )
    return pd.concat(curves, ignore_index=True)


def _strategy_curve(strategy: object, steps: pd.DataFrame, end: float, over: str) -> pd.DataFrame:
    places = steps[over].to_numpy(dtype=float)
    at = np.unique(np.append(places, end))
    # A budget cut by rounding must not cut the last report off.
    at = at[at <= max(end, places.max())]
    seeds = [own for _, own in steps.groupby("seed", sort=False)]

    def over_seeds(column: str) -> Values:
        return np.stack(
            [
                step_values(
                    own[over].to_numpy(dtype=float),
                    own[column].to_numpy(dtype=float),
                    at,
                )
                for own in seeds
            ]
        )

    validation = over_seeds("validation_score")
    begun = ~np.isnan(validation).any(axis=0)
    mean, low, high = mean_and_spread(validation[:, begun], MIN_SEEDS_FOR_INTERVAL_BAND)
    return pd.DataFrame(
        {
            "strategy": strategy,
            over: at[begun],
            "validation": mean,
            "low": low,
            "high": high,
            "test": over_seeds("test_score")[:, begun].mean(axis=0),
            "seeds": len(seeds),
        }
    )


def regret_curves(curves: pd.DataFrame, best: float, mode: Mode) -> pd.DataFrame:
    """:func:`score_curves` as their distance (≥ 0) from ``best``, the best score that any cell of
    the study found; ``low`` and ``high`` are the band's nearer and farther edge."""
    if mode == "max":
        regret, low, high = (best - curves[c] for c in ("validation", "high", "low"))
    else:
        regret, low, high = (curves[c] - best for c in ("validation", "low", "high"))
    return curves.assign(
        regret=regret.clip(lower=0.0), low=low.clip(lower=0.0), high=high.clip(lower=0.0)
    ).drop(columns=["validation", "test"])


def values_at(curves: pd.DataFrame, places: Values, value: str) -> pd.DataFrame:
    """What each strategy's curve is at these places: a row per strategy, a column per place, NaN
    before the curve begins."""
    x = next(column for column in (HELD, WALL) if column in curves)
    return pd.DataFrame(
        {
            str(name): step_values(
                own[x].to_numpy(dtype=float), own[value].to_numpy(dtype=float), places
            )
            for name, own in curves.groupby("strategy", sort=False)
        },
        index=places,
    ).T


@dataclass(frozen=True)
class Focus:
    """An axis range that shows the differences, and the strategies whose end lies outside it."""

    low: float
    high: float
    outside: tuple[str, ...]


WARM_UP_SHARE = 0.1
"""The part of a strategy's time whose scores need not be on the axis."""


def focus(curves: pd.DataFrame, mode: Mode) -> Focus | None:
    """A score axis that the first, bad scores do not flatten; ``None`` where there is no curve.

    The worse end of the axis is the median, over strategies, of the score each had when a tenth
    of its time with a score was over, moved out to take in every final score that is not more
    than three times as far from the best; the better end takes in the bands, up to half the range.
    """
    if curves.empty:
        return None
    sign = 1.0 if mode == "max" else -1.0
    groups = [(str(name), own) for name, own in curves.groupby("strategy", sort=False)]
    finals = {name: sign * own["validation"].iloc[-1] for name, own in groups}
    best = max(finals.values())
    floor = float(np.median([sign * _after_warm_up(own) for _, own in groups]))
    reach = best - floor
    near = [value for value in finals.values() if best - value <= 3 * reach]
    floor = min([floor, *near])
    margin = 0.06 * (best - floor) or max(abs(best) * 0.01, 1e-6)
    better_edge = curves["high" if mode == "max" else "low"].dropna()
    ceiling = max([best, *(sign * better_edge)])
    ceiling = min(ceiling, best + max(0.5 * (best - floor), margin))
    bottom, top = floor - margin, ceiling + margin
    outside = tuple(name for name, value in finals.items() if value < bottom)
    low, high = sorted((sign * bottom, sign * top))
    return Focus(low, high, outside)


def _after_warm_up(curve: pd.DataFrame) -> float:
    x = curve["held_device_seconds"].to_numpy(dtype=float)
    place = x[0] + WARM_UP_SHARE * (x[-1] - x[0])
    return float(step_values(x, curve["validation"].to_numpy(dtype=float), np.array([place]))[0])
