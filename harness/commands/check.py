"""``check``: did search quality drop since a baseline? Exit codes for CI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.check.measures import DEFAULT_ALPHA, Inconclusive
from harness.contract import UsageError

DECIDES, OUTPUTS = "How it decides", "Outputs"


def check(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="A finished run; without it the baseline's own study is run first.",
            metavar="[RUN]",
        ),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="A file made by `harness baseline`. [required]")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Run and compare only the baseline's first so many seeds.",
            rich_help_panel=DECIDES,
        ),
    ] = None,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Where a row is worse or inconclusive, run its strategy on more seeds, doubling "
            "as far as the baseline has them, and decide on all of them.",
            rich_help_panel=DECIDES,
        ),
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="A margin, NAME:SIZE[pt|%], e.g. best_score:0.1pt; repeatable. Wins over the "
            "baseline's own.",
            rich_help_panel=DECIDES,
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            min=1e-6,
            max=0.5,
            help="The chance of any false alarm in a check, at most.",
            rich_help_panel=DECIDES,
        ),
    ] = DEFAULT_ALPHA,
    inconclusive: Annotated[
        Inconclusive,
        typer.Option(
            help="Whether an inconclusive check passes (0) or fails (3).", rich_help_panel=DECIDES
        ),
    ] = "fail",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the new run and check.html, check.json, check.md, junit.xml, "
            "benchmark-*.json. [default: runs/check-TIME]",
            rich_help_panel=OUTPUTS,
        ),
    ] = None,
) -> None:
    """Compare a run with a baseline, strategy by strategy and seed by seed.

    Exit codes: 0 no regression, 1 regression, 2 mistake, 3 inconclusive, 4 not comparable.
    """
    from harness.check.measures import parse_margins
    from harness.check.run import CheckPlan, run_check
    from harness.clock import utc_timestamp

    if baseline is None:
        raise UsageError("--baseline FILE is missing: a file made by `harness baseline`")
    if run is not None and (confirm or seeds is not None):
        raise UsageError(
            f"--{'confirm' if confirm else 'seeds'} is for a check that runs the study itself: "
            f"leave {run} out, or the option"
        )
    plan = CheckPlan(
        baseline=baseline,
        run=run,
        seeds=seeds,
        confirm=confirm,
        margins=parse_margins(fail_on or []),
        alpha=alpha,
        inconclusive=inconclusive,
        out=out or Path("runs") / f"check-{utc_timestamp().replace(':', '')[:17]}",
    )
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    raise typer.Exit(
        run_check(
            plan,
            Console(),
            summary=Path(summary) if summary else None,
            is_github=os.environ.get("GITHUB_ACTIONS") == "true",
        )
    )
