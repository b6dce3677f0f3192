"""The seeds of retrainings: those that no cell of the study has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from harness.study import MAX_SEED

_COUNT = MAX_SEED + 1


class FreshSeeds:
    """Counted up from after the largest of the study, and on from 0 after the last there is, so
    that more of them only adds to fewer."""

    def __init__(self, used: Collection[int]) -> None:
        self._used, self._first = frozenset(used), max(used) + 1

    def first(self, count: int) -> list[int]:
        return list(islice(self, count))

    def place(self, seed: int) -> int:
        """Sorts seeds in the order in which they are counted."""
        return (seed - self._first) % _COUNT

    def __iter__(self) -> Iterator[int]:
        seeds = ((self._first + n) % _COUNT for n in range(_COUNT))
        return (seed for seed in seeds if seed not in self._used)
