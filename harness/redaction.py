"""Takes secrets out of what is shown or kept: credentials in URLs.

Secrets belong into the environment (or a cloud's own roles); this is for those that came in a URL
all the same.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"

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


def redact(text: str) -> str:
    """The text with ``***`` for every credential of a URL in it."""
    for pattern in (_USER_AND_PASSWORD, _TOKEN):
        text = pattern.sub(rf"\1{HIDDEN}@", text)
    return _QUERY_VALUE.sub(rf"\1{HIDDEN}", text)


def redact_about(url: str, text: str) -> str:
    """``text``, which is about ``url`` (a driver's error), without the credentials of either: it
    may repeat them without the URL around them."""
    shown = redact(url)
    if shown != url:
        for part in _credentials(url):
            text = text.replace(part, HIDDEN).replace(unquote(part), HIDDEN)
    return redact(text)


def redacted(value: Any) -> Any:
    """JSON data with every text of it redacted, keys apart."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redacted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [redacted(item) for item in value]
    return value


def _credentials(url: str) -> list[str]:
    """The credentials of a URL, longest first."""
    found = [match.group()[len(match.group(1)) :] for match in _QUERY_VALUE.finditer(url)]
    for pattern in (_USER_AND_PASSWORD, _TOKEN):
        for match in pattern.finditer(url):
            whole = match.group()[len(match.group(1)) : -1]
            found += [whole, *whole.split(":", 1)]
    return sorted(filter(None, found), key=len, reverse=True)
