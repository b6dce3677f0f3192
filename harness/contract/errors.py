"""The project's exceptions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HarnessError(Exception):
    """Base of every error that this project raises on purpose."""

    exit_code = 1


class UsageError(HarnessError):
    """A user's mistake: the message says what was given, what is allowed and what to do."""

    exit_code = 2


def unknown_name(kind: str, given: str, allowed: Iterable[str]) -> UsageError:
    """The error for a name that is not registered, with the nearest one suggested."""
    names = sorted(allowed)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UsageError(f"unknown {kind} {given!r}.{hint} Known: {', '.join(names) or 'none'}.")
