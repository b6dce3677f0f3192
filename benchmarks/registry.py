"""Which benchmarks there are, by name, and how one is made from its options.

Another package adds one with an entry point of the group ``harness.benchmarks``, a single file with
``--benchmark-file``; neither touches this module.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from harness.contract import Benchmark, UsageError
from harness.contract.records import ConfigValue
from harness.contract.registry import Registry


def _is_benchmark(thing: object) -> bool:
    return (
        isinstance(thing, type) and issubclass(thing, Benchmark) and not inspect.isabstract(thing)
    )


BENCHMARKS: Registry[type[Benchmark]] = Registry(
    kind="benchmark",
    group="harness.benchmarks",
    builtin=("benchmarks.fashion_mnist", "benchmarks.recorded", "benchmarks.analytic"),
    is_one=_is_benchmark,
    name_of=lambda benchmark: benchmark.name,
    requires_of=lambda benchmark: benchmark.requires,
)


def option_names(kind: type[Benchmark]) -> list[str]:
    """The names of a benchmark's options: the fields of its dataclass."""
    if not dataclasses.is_dataclass(kind):
        return []
    return [field.name for field in dataclasses.fields(kind) if field.init]


def options_of(benchmark: Benchmark) -> dict[str, ConfigValue]:
    """A benchmark's options as plain data, those left at their defaults too."""
    return {name: getattr(benchmark, name) for name in option_names(type(benchmark))}


def make_benchmark(name: str, options: Mapping[str, Any]) -> Benchmark:
    """A benchmark with its options set; text values are turned into the options' types.

    Raises:
        UsageError: unknown benchmark or option, or a value that the option does not take.
    """
    kind = BENCHMARKS.get(name)
    known = option_names(kind)
    for given in options:
        if given not in known:
            near = difflib.get_close_matches(given, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(
                f"benchmark {name!r} has no option {given!r}.{hint} "
                f"Its options: {', '.join(known) or 'none'}."
            )
    try:
        return kind(**options)
    except ValidationError as error:
        lines = [
            f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg'].lower()}, "
            f"not {mistake['input']!r}"
            for mistake in error.errors()
        ]
        raise UsageError(f"benchmark {name!r}: option {'; '.join(lines)}") from None
