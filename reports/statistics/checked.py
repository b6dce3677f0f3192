"""What every function of this package demands of the arrays it is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]


def vector(name: str, values: ArrayLike) -> Values:
    """``values`` as floats on one axis, empty ones too.

    Raises:
        ValueError: they have another number of axes.
    """
    array: Values = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; allowed is (n,)")
    return array


def pair_of_vectors(
    names: tuple[str, str], one: ArrayLike, other: ArrayLike
) -> tuple[Values, Values]:
    """Two vectors that belong together element by element.

    Raises:
        ValueError: one has not one axis, or they are not of the same length.
    """
    pair = vector(names[0], one), vector(names[1], other)
    if pair[0].shape != pair[1].shape:
        raise ValueError(
            f"{names[0]} has {len(pair[0])} values and {names[1]} has {len(pair[1])}; "
            "allowed is the same number"
        )
    return pair


def check_share(name: str, value: float) -> None:
    """
    Raises:
        ValueError: the value is not strictly between 0 and 1.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value:g}; allowed is above 0 and below 1")
