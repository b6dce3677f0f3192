"""The fast way through Tune's controller and Ray's own give the same events, byte for byte."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from ray.tune.search.basic_variant import BasicVariantGenerator

from benchmarks.analytic import ConditionalSpace, HartmannPowerLaw, NoisyQuadratic, SlowStarters
from harness.contract import Benchmark, Plan, Problem, Strategy
from strategies.asha import asha
from strategies.fifo import fifo
from strategies.registry import STRATEGIES
from strategies.searchers import random_search
from tests.harness.virtual_cells import NO_COSTS, SOME_COSTS, costs, run_virtual
from tests.harness.virtual_toys import FAULTS, Clockwork, ClockworkMin, HeavyClockwork

STUDIES = 50

BENCHMARKS: list[Callable[[random.Random], Benchmark]] = [
    lambda pick: NoisyQuadratic(max_epochs=pick.choice([1, 4, 9])),
    lambda pick: HartmannPowerLaw(max_epochs=pick.choice([3, 10])),
    lambda pick: SlowStarters(max_epochs=pick.choice([2, 9])),
    lambda pick: ConditionalSpace(max_epochs=pick.choice([5, 9])),
    lambda pick: Clockwork(faults=",".join(FAULTS), max_epochs=pick.choice([2, 6, 9])),
    lambda pick: ClockworkMin(faults=",".join(FAULTS), max_epochs=7),
    lambda pick: HeavyClockwork(faults="none,raise_once,nan,raise", max_epochs=6),
]


def _random_asha(pick: random.Random) -> Strategy:
    """ASHA with settings that our strategies do not have, brackets above all."""
    from ray.tune.schedulers import AsyncHyperBandScheduler

    grace, factor, brackets = pick.choice([1, 2]), pick.choice([2, 2.5, 4]), pick.choice([1, 3])

    def build(problem: Problem) -> Plan:
        searcher, _ = random_search(problem)
        scheduler = AsyncHyperBandScheduler(
            metric=problem.metric,
            mode=problem.mode,
            max_t=problem.max_epochs,
            grace_period=min(grace, problem.max_epochs),
            reduction_factor=factor,
            brackets=brackets,
        )
        return Plan(searcher=searcher, scheduler=scheduler)

    return _strategy("random/other-asha", build)


def _starting_points(pick: random.Random) -> Strategy:
    """Random search that begins with given points: Ray's own variant generator, not ours."""
    points = pick.randint(1, 6)

    def build(problem: Problem) -> Plan:
        searcher = BasicVariantGenerator(
            max_concurrent=problem.slots,
            random_state=problem.seed,
            points_to_evaluate=[
                {name: domain.sample(random_state=n) for name, domain in problem.space.items()}
                for n in range(points)
            ],
        )
        scheduler, rungs, _, _ = asha(problem)
        return Plan(searcher=searcher, scheduler=scheduler, rungs=rungs)

    return _strategy("random-from-points/asha", build)


def _median(pick: random.Random) -> Strategy:
    """A scheduler of Ray's that the fast way knows nothing about."""
    from ray.tune.schedulers import MedianStoppingRule

    def build(problem: Problem) -> Plan:
        scheduler = MedianStoppingRule(
            time_attr="training_iteration", metric=problem.metric, mode=problem.mode,
            grace_period=1, min_samples_required=2,
        )  # fmt: skip
        return Plan(searcher=random_search(problem)[0], scheduler=scheduler)

    return _strategy("random/median", build)


def _fifo_with_a_queue(pick: random.Random) -> Strategy:
    """More trials alive than slots."""

    def build(problem: Problem) -> Plan:
        searcher, _ = random_search(problem, max_concurrent=problem.slots + 3)
        return Plan(searcher=searcher, scheduler=fifo())

    return _strategy("random-ahead/fifo", build)


def _strategy(name: str, build: Callable[[Problem], Plan]) -> Strategy:
    searcher, scheduler = name.split("/")
    return Strategy(
        name=name, summary="of a test", searcher=searcher, scheduler=scheduler, build=build
    )


OTHER_STRATEGIES = [_random_asha, _starting_points, _median, _fifo_with_a_queue]


@pytest.mark.parametrize("number", range(STUDIES))
def test_a_random_study(number: int) -> None:
    pick = random.Random(number)
    names = STRATEGIES.names()
    which = number % (len(names) + len(OTHER_STRATEGIES))
    strategy: Any = (
        names[which] if which < len(names) else OTHER_STRATEGIES[which - len(names)](pick)
    )
    fitting = BENCHMARKS if strategy != "pbt" else [BENCHMARKS[i] for i in (0, 4, 5, 6)]
    settings: dict[str, Any] = {
        "benchmark": pick.choice(fitting)(pick),
        "slots": pick.choice([1, 2, 3, 5, 8, 16]),
        "trainings": pick.uniform(1.0, 12.0),
        "seed": pick.randrange(2**32),
        "max_same_failures": pick.choice([0, 3]),
        "costs": pick.choice([NO_COSTS, SOME_COSTS, costs(suggestion=7.0, actor_stop=1.0)]),
    }
    fast = run_virtual(strategy, **settings)
    own = run_virtual(strategy, **settings, is_fast=False)
    assert fast.events == own.events
    assert fast.record.model_dump_json() == own.record.model_dump_json()
    assert fast.state == own.state
