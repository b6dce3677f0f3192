"""Sharding is exact."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fashion_mnist.sharding import batches, bounds


@given(st.integers(0, 5000), st.integers(1, 9))
def test_shards_are_a_partition_of_almost_equal_parts(items: int, world_size: int) -> None:
    shards = [bounds(items, rank, world_size) for rank in range(world_size)]
    assert [i for first, last in shards for i in range(first, last)] == list(range(items))
    sizes = [last - first for first, last in shards]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 3000), st.integers(1, 4000))
def test_batches_cover_each_item_once(items: int, batch_size: int) -> None:
    covered = [i for start, stop in batches(items, batch_size) for i in range(start, stop)]
    assert covered == list(range(items))
