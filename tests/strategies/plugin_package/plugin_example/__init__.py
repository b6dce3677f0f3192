"""A package that adds strategies to the harness by entry points alone."""

from dataclasses import replace

from harness.contract import Plan, Problem, Strategy


def build(problem: Problem) -> Plan:
    from ray.tune.schedulers import MedianStoppingRule
    from ray.tune.search.basic_variant import BasicVariantGenerator

    return Plan(
        searcher=BasicVariantGenerator(random_state=problem.seed, max_concurrent=problem.slots),
        scheduler=MedianStoppingRule(
            time_attr="training_iteration", metric=problem.metric, mode=problem.mode
        ),
    )


STRATEGY = Strategy(
    name="plugin/median",
    summary="Random search with the median stopping rule",
    searcher="random",
    scheduler="median",
    build=build,
)
NOT_INSTALLED = replace(STRATEGY, name="plugin/not-installed", requires=("no_such_module",))
TAKEN = replace(STRATEGY, name="random/fifo")
