"""``doctor``: what this machine has, and what to do where ``run`` would not work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.console import say

if TYPE_CHECKING:
    from harness.doctor.finding import Finding

STYLES = {"ok": "green", "note": "yellow", "problem": "red"}


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs instead of text.")
    ] = False,
    limit: Annotated[
        float, typer.Option(min=1, max=3600, help="Seconds that all checks together may take.")
    ] = 120.0,
) -> None:
    """Look at devices, packages, data, disks and Ray's settings; nothing is started or changed.

    Exit codes: 0 `run` would work, 1 it would not; every problem has a line on what to do.
    """
    from harness.clock import MonotonicClock
    from harness.doctor.diagnose import diagnose

    diagnosis = diagnose(limit, MonotonicClock())
    if as_json:
        typer.echo(diagnosis.model_dump_json(indent=2))
    else:
        _print(diagnosis.findings)
    raise typer.Exit(0 if diagnosis.run_would_work else 1)


def _print(findings: list[Finding]) -> None:
    console = Console()
    for finding in findings:
        line = f"{finding.level:<8} {finding.topic}: {finding.found}"
        say(console, line, STYLES[finding.level])
        if finding.to_do is not None:
            say(console, f"{'':<8} → {finding.to_do}")
    problems = sum(finding.level == "problem" for finding in findings)
    say(console, f"run would not work: {problems} problem(s)" if problems else "run would work")
