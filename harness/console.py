"""How the harness talks on a console."""

from __future__ import annotations

from rich.console import Console

from harness.contract.text import printable
from harness.redaction import redacted


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a line as it is, but for secrets: no markup, no wrapping of what may be copied."""
    console.print(
        redacted(printable(text)), style=style, markup=False, highlight=False, soft_wrap=True
    )
