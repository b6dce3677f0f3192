"""How a global batch is shared between ranks: pure arithmetic."""

from __future__ import annotations


def bounds(items: int, rank: int, world_size: int) -> tuple[int, int]:
    """The half-open range of ``items`` that is a rank's; ranges differ by one item at most."""
    return items * rank // world_size, items * (rank + 1) // world_size


def batches(items: int, batch_size: int) -> list[tuple[int, int]]:
    """Half-open ranges of the global batches of an epoch; the last one may be smaller."""
    return [(start, min(start + batch_size, items)) for start in range(0, items, batch_size)]
