"""``report RUN``: rebuild a run's report; imports neither Ray nor torch."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="The run folder, e.g. runs/NAME.", metavar="RUN")],
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Rebuild results.parquet, summary.json and report.html from a run folder alone."""
    # Late: pandas, scipy and seaborn take seconds that the other commands need not wait.
    from reports.build import build_report

    page = build_report(run)
    typer.echo(page)
    if open_:
        webbrowser.open(page.resolve().as_uri())
