"""``report RUN…``: rebuild a run's report, or write one page about several; imports neither Ray nor
torch."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from harness.contract import UsageError


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, e.g. runs/NAME.", metavar="RUN…")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Write the page there; the run folders are left as they are."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Rebuild results.parquet, summary.json and report.html from a run folder alone.

    With several run folders, one page about all of them: runs that asked the same question (same
    benchmark, budget, devices, executor) are one study there.
    """
    if out is None and len(runs) > 1:
        raise UsageError("several runs need --out FILE, the page to write about all of them")
    # Late: pandas, scipy and seaborn take seconds that the other commands need not wait.
    from reports.build import build_page, build_report

    page = build_report(runs[0]) if out is None else build_page(runs, out)
    typer.echo(page)
    if open_ and not webbrowser.open(page.resolve().as_uri()):
        typer.echo("no browser could be started; open the file yourself", err=True)
