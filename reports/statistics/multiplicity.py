"""Many comparisons at once: p-values that allow for how many there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reports.statistics.checked import Values, vector


def holm(p_values: ArrayLike) -> Values:
    """Adjusted p-values: rejecting those at or below α errs anywhere with probability ≤ α.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none is below one that was
    smaller before, and none above 1. That holds however the comparisons depend on each other, as
    those between all pairs of strategies do, but only as far as each p-value is right by itself.

    Args:
        p_values: shape (m,), each in [0, 1] or NaN (no test was made).

    Returns:
        Shape (m,), in the order given; NaN stays NaN, and does not count in m.

    Raises:
        ValueError: another shape, or a value outside [0, 1].

    Source: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979).
    """
    given = vector("p_values", p_values)
    made = ~np.isnan(given)
    tested = given[made]
    if ((tested < 0) | (tested > 1)).any():
        raise ValueError(f"p_values are {given}; allowed is from 0 to 1, or NaN")
    order = np.argsort(tested, kind="stable")
    stepped = np.maximum.accumulate(tested[order] * np.arange(len(tested), 0, -1))
    adjusted = np.full(len(tested), np.nan)
    adjusted[order] = np.minimum(stepped, 1.0)
    found = np.full(len(given), np.nan)
    found[made] = adjusted
    return found
