"""Secrets out of texts, before they reach a log, a result file or the report.

Whatever a trial raises ends up in files that people send around, and an exception's text may hold
all of its process's environment, or the URL of a bucket with its password.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO, TypeVar
from urllib.parse import unquote

HIDDEN = "***"

_SECRET_NAME = (
    r"(?:[A-Za-z0-9_.-]*(?:token|secret|passw(?:or)?d|passphrase|credential|api_?-?key|access_?-?key|"
    r"private_?-?key|signature|connection_?string)s?(?:[_.-][A-Za-z0-9_.-]*)?|(?:[A-Za-z0-9_]+_)?(?:key|auth|pwd))"
)
_USER_AND_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/:@'\"]*:[^\s'\"]*@", re.IGNORECASE)
"""``scheme://user:password@``. A password may hold an unquoted ``/`` or ``@``, as AWS's do, so this
goes on to the last ``@``: rather too much than too little."""

_TOKEN = re.compile(r"(\b(?:git\+)?https?://)[^\s/:@'\"]+@", re.IGNORECASE)
"""``https://token@``. Elsewhere a lone user is none: ``sftp://user@host``,
``abfss://container@account``."""

_QUERY_VALUE = re.compile(
    r"([?&][^=&\s]*(?:sig|token|key|secret|pass|pwd|cred|auth)[^=&\s]*=)[^&\s'\"#]+", re.IGNORECASE
)
"""``?X-Amz-Signature=…``, ``&sig=…``, ``?access_token=…``"""

_PATTERNS = (
    (_USER_AND_PASSWORD, rf"\g<1>{HIDDEN}@"),
    (_TOKEN, rf"\g<1>{HIDDEN}@"),
    (_QUERY_VALUE, rf"\g<1>{HIDDEN}"),
    # NAME=value, "name": "value", ?name=value
    (
        re.compile(
            rf"(?<![A-Za-z0-9_.-])({_SECRET_NAME}['\"]?\s*(?:=|:)\s*)"
            r"(?:'[^']*'|\"[^\"]*\"|[^\s'\",;&)}\]]+)",
            re.IGNORECASE,
        ),
        rf"\g<1>{HIDDEN}",
    ),
    (re.compile(r"\b((?:Bearer|Basic)\s+)[A-Za-z0-9+/=._~-]{8,}"), rf"\g<1>{HIDDEN}"),
    # What GitHub, AWS, Hugging Face, OpenAI, Slack and Google give out is known by its beginning.
    (
        re.compile(
            r"\b(?:gh[pousr]_|github_pat_|AKIA|ASIA|hf_|sk-|xox[abpr]-|AIza)[A-Za-z0-9_-]{12,}"
        ),
        HIDDEN,
    ),
)
_NAME = re.compile(rf"^{_SECRET_NAME}$", re.IGNORECASE)
_LEAST_LENGTH = 8
"""A shorter value of the environment is a word that stands everywhere."""

T = TypeVar("T")


def redacted(text: str) -> str:
    """The text with ``***`` in place of credentials in URLs, of what is assigned to a name that
    says it is secret, and of the values that such names have in this process's environment."""
    for value in sorted(_secrets(os.environ), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def redacted_about(url: str, text: str) -> str:
    """``text``, which is about ``url`` (a driver's error), without the credentials of either: it
    may repeat them without the URL around them."""
    if redacted(url) != url:
        for part in _credentials(url):
            text = text.replace(part, HIDDEN).replace(unquote(part), HIDDEN)
    return redacted(text)


def redacted_data(data: T) -> T:
    """Plain data with its texts redacted, and what has a name that says it is secret."""
    hidden: T = _redacted(data)
    return hidden


def _redacted(data: Any) -> Any:
    if isinstance(data, str):
        return redacted(data)
    if isinstance(data, Mapping):
        return {
            name: HIDDEN if isinstance(value, str) and _NAME.match(str(name)) else _redacted(value)
            for name, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [_redacted(item) for item in data]
    return data


def _secrets(environment: Mapping[str, str]) -> set[str]:
    return {
        value
        for name, value in environment.items()
        # A path is where a secret lies, and no secret; though one may begin as a path does.
        if len(value) >= _LEAST_LENGTH and _NAME.match(name) and not _is_path(value)
    }


def _is_path(value: str) -> bool:
    return value.startswith("/") and Path("/", value.split("/")[1]) in Path("/").iterdir()


def _credentials(url: str) -> list[str]:
    """The credentials of a URL, longest first."""
    found = [match.group()[len(match.group(1)) :] for match in _QUERY_VALUE.finditer(url)]
    for pattern in (_USER_AND_PASSWORD, _TOKEN):
        for match in pattern.finditer(url):
            whole = match.group()[len(match.group(1)) : -1]
            found += [whole, *whole.split(":", 1)]
    return sorted(filter(None, found), key=len, reverse=True)


class RedactingStream(io.TextIOBase):
    """A text stream that redacts what is written to another, line by line."""

    def __init__(self, target: TextIO) -> None:
        self._target, self._begun = target, ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._target.write(redacted(line) + "\n")
        return len(text)

    def flush(self) -> None:
        if self._begun:
            self._target.write(redacted(self._begun))
            self._begun = ""
        self._target.flush()

    def fileno(self) -> int:
        return self._target.fileno()

    def writable(self) -> bool:
        return True
