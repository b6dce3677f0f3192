"""What several commands read alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.contract import UsageError


def parse_options(pairs: Iterable[str] | None) -> dict[str, Any]:
    """``NAME=VALUE`` texts as a mapping. Raises :class:`UsageError` for any other text."""
    options = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--benchmark-option must be NAME=VALUE, not {pair!r}")
        options[name.strip()] = value.strip()
    return options
