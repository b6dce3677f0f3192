"""Which configurations are worth several seeds: ``lr>0.05`` as text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.contract import UsageError
from harness.contract.records import ConfigValue, ParameterRecord

FORM = re.compile(r"\s*(?P<name>[^<>=]+?)\s*(?P<relation>[<>])\s*(?P<bound>[^<>=]+?)\s*")


@dataclass(frozen=True)
class Condition:
    """A numeric parameter lies above (or below) a bound, which itself does not count."""

    name: str
    above: bool
    bound: float

    def holds(self, config: Mapping[str, ConfigValue]) -> bool:
        value = config[self.name]
        assert isinstance(value, int | float)
        return value > self.bound if self.above else value < self.bound


def parse_condition(text: str, space: Mapping[str, ParameterRecord]) -> Condition:
    """``NAME>VALUE`` or ``NAME<VALUE``.

    Raises:
        UsageError: another form, or not a numeric parameter of the space.
    """
    form = FORM.fullmatch(text)
    try:
        bound = float(form["bound"]) if form else math.nan
    except ValueError:
        bound = math.nan
    if form is None or math.isnan(bound):
        raise UsageError(f"--repeat-where must be NAME>NUMBER or NAME<NUMBER, not {text!r}")
    numeric = [name for name, parameter in space.items() if parameter.type != "categorical"]
    if form["name"] not in numeric:
        raise UsageError(
            f"--repeat-where {text!r}: {form['name']!r} is no numeric parameter of the benchmark; "
            f"these are: {', '.join(numeric) or 'none'}"
        )
    return Condition(form["name"], form["relation"] == ">", bound)
