"""Which strategies there are, by name. Adding one: a module with a ``Strategy``, and its line here.

Another package adds one with an entry point of the group ``harness.strategies``, a single file with
``--strategy-file``; neither touches this module.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.contract import Strategy, UsageError
from harness.contract.registry import Registry

ALL = "all"

STRATEGIES: Registry[Strategy] = Registry(
    kind="strategy",
    group="harness.strategies",
    builtin=(
        "strategies.random_fifo",
        "strategies.random_asha",
        "strategies.optuna_fifo",
        "strategies.optuna_asha",
        "strategies.hyperopt_asha",
        "strategies.pbt",
    ),
    is_one=lambda thing: isinstance(thing, Strategy),
    name_of=lambda strategy: strategy.name,
    requires_of=lambda strategy: strategy.requires,
)


def resolve(
    names: str | Sequence[str], registry: Registry[Strategy] = STRATEGIES
) -> tuple[list[Strategy], dict[str, str]]:
    """The strategies asked for, in order and each once, and what ``all`` left out: name → reason.

    Args:
        names: ``"a,b"``, ``["a", "b"]`` or ``["a,b", "c"]``; ``all`` stands for every usable one.

    Raises:
        UsageError: no name, or one that is unknown, broken or not installed.
    """
    given = [names] if isinstance(names, str) else names
    asked = [name.strip() for item in given for name in item.split(",") if name.strip()]
    if not asked:
        raise UsageError(
            f"no strategy given: name some of {', '.join(registry.names())}, or '{ALL}'"
        )
    entries = registry.entries()
    chosen: dict[str, Strategy] = {}
    left_out: dict[str, str] = {}
    for name in asked:
        if name != ALL:
            chosen[name] = registry.get(name)
            continue
        for entry in entries.values():
            if entry.value is not None:
                chosen[entry.name] = entry.value
            else:
                left_out[entry.name] = entry.problem or "cannot be used"
    return list(chosen.values()), left_out
