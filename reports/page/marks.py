"""How the page shows what a check decided: a sign and a word, and for the eye a colour."""

from __future__ import annotations

from harness.contract.check import MARK_WORDS, Mark

MARK_SIGNS: dict[Mark, str] = {"+": "+", "-": "−", "~": "~", "?": "?", "!": "!", "x": "x"}
MARK_TONES: dict[Mark, str] = {
    "+": "good", "-": "bad", "~": "none", "?": "unsure", "!": "bad", "x": "none",
}  # fmt: skip
"""Classes of ``page.css``."""


def mark_text(mark: Mark) -> str:
    return f"{MARK_SIGNS[mark]} {MARK_WORDS[mark]}"
