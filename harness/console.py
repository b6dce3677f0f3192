"""How the harness talks on a console."""

from __future__ import annotations

from rich.console import Console

from harness.contract.text import printable


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a line as it is: no markup, no wrapping of what may be copied."""
    console.print(printable(text), style=style, markup=False, highlight=False, soft_wrap=True)
