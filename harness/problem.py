"""From a benchmark and a cell's limits to the problem that a strategy is built for."""

from __future__ import annotations

from harness.contract import Benchmark, Problem


def make_problem(benchmark: Benchmark, slots: int, budget_epochs: float, seed: int) -> Problem:
    """All that the strategy of a cell may know."""
    return Problem(
        space=benchmark.space(),
        mutable=benchmark.mutable,
        metric=benchmark.metric,
        mode=benchmark.mode,
        max_epochs=benchmark.max_epochs,
        slots=slots,
        budget_epochs=budget_epochs,
        seed=seed,
    )
