"""Texts that somebody else wrote, made fit for a terminal."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    # C0 but tab and line feed, DEL, C1; and what turns the direction of writing round.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""The text with its control characters spelt out (``\x1b``): what a terminal would obey (move
    the cursor, change the title, hide a line) is only shown."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
