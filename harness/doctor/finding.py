"""What ``doctor`` says: findings, and what follows from them."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, computed_field

DOCTOR_FORMAT_VERSION: Final = 1

Level = Literal["ok", "note", "problem"]
"""``problem``: ``run`` would not work. ``note``: it would, with less than it could have."""


class Finding(BaseModel):
    """One fact, in one line; ``to_do``: one line about what to do, where there is something."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Level
    topic: str
    found: str
    to_do: str | None = None


class Diagnosis(BaseModel):
    """``doctor --json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: Literal[1] = DOCTOR_FORMAT_VERSION
    findings: list[Finding]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def run_would_work(self) -> bool:
        return all(finding.level != "problem" for finding in self.findings)


def ok(topic: str, found: str) -> Finding:
    return Finding(level="ok", topic=topic, found=found)


def note(topic: str, found: str, to_do: str | None = None) -> Finding:
    return Finding(level="note", topic=topic, found=found, to_do=to_do)


def problem(topic: str, found: str, to_do: str) -> Finding:
    return Finding(level="problem", topic=topic, found=found, to_do=to_do)
