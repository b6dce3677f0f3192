"""Where results go besides the run folder: ``NAME`` or ``NAME:PLACE``, as the user wrote it."""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from harness.contract import UsageError
from harness.contract.errors import unknown_name

TRACKERS: Final = ("mlflow", "wandb", "tensorboard")
"""They follow a run while it grows (``--track``), and take a finished one (``export --to``)."""

EXPORTS: Final = (*TRACKERS, "optuna", "csv", "parquet", "tune")

_URL = re.compile(r"[\w+.-]+://.*")
_FOLDER = re.compile(r"(?![\w+.-]+://).+")
_PLACES: Final = {
    "optuna": (_URL, "a storage URL, e.g. optuna:sqlite:///study.db"),
    "wandb": (re.compile(r"[^/:]+(/[^/:]+)?"), "PROJECT or ENTITY/PROJECT"),
    "tensorboard": (_FOLDER, "a local folder"),
    "csv": (_FOLDER, "a local folder"),
    "parquet": (_FOLDER, "a local folder"),
    "tune": (_FOLDER, "a local folder"),
}
"""What a place must look like. MLflow knows many kinds, and says itself what it does not."""

_SECRETS: Final = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "WANDB_API_KEY")
"""Environment variables whose values must not be shown."""

_ADDRESSES: Final = ("MLFLOW_TRACKING_URI", "WANDB_BASE_URL")
"""Environment variables whose values may hold credentials."""


@dataclass(frozen=True)
class Target:
    """``place``: a URI, a project or a folder, by ``name``; ``None``: that tool's own default."""

    name: str
    place: str | None

    def __str__(self) -> str:
        """Without credentials: for people, logs and files."""
        return self.name if self.place is None else f"{self.name}:{without_credentials(self.place)}"

    def clean(self, text: str) -> str:
        """A library's message without what is secret here."""
        places = [self.place, *(os.environ.get(name) for name in _ADDRESSES)]
        for place in filter(None, places):
            text = text.replace(place, without_credentials(place))
        passwords = (_password(place) for place in filter(None, places))
        for secret in filter(None, (*passwords, *(os.environ.get(name) for name in _SECRETS))):
            text = text.replace(secret, "***")
        return text


def parse_target(given: str, allowed: tuple[str, ...] = EXPORTS) -> Target:
    """Raises :class:`UsageError`: a name that is not allowed, or a place that is none."""
    name, colon, place = given.strip().partition(":")
    if name not in allowed:
        error = unknown_name("target", name, allowed)
        raise UsageError(f"{error} Give NAME or NAME:PLACE, one per option.")
    if colon and not place:
        raise UsageError(f"{given!r} ends after its colon: leave the colon out, or name a place")
    target = Target(name, place or None)
    form, example = _PLACES.get(name, (None, ""))
    if form is not None and (place or name == "optuna") and not form.fullmatch(place):
        raise UsageError(f"{name}: takes {example}; given {str(target)!r}")
    return target


def check_installed(target: Target) -> None:
    """Raises :class:`UsageError` where the package behind a target is missing."""
    if target.name in TRACKERS and importlib.util.find_spec(target.name) is None:
        raise UsageError(
            f"{target.name} is not installed: pip install 'tune-bench-harness[{target.name}]'"
        )


def without_credentials(place: str) -> str:
    """A URI without user, password and query; any other text as it is."""
    if "://" not in place:
        return place
    return re.sub(r"://[^/]*@", "://", place.partition("?")[0])


def _password(place: str) -> str | None:
    try:
        return urlsplit(place).password
    except ValueError:
        return None
