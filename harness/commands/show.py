"""``show RUN``: the verdict and the ranking in the terminal; imports neither Ray nor torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def show(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, e.g. runs/NAME.", metavar="RUN…")
    ],
) -> None:
    """Print a run's verdict and ranking, from its folder alone; nothing is written.

    Runs that asked the same question (same benchmark, budget, devices, executor) are one study.
    """
    # Late: pandas and scipy take seconds that the other commands need not wait.
    from reports.analysis import analyse
    from reports.merge import group_runs
    from reports.store import read_run
    from reports.terminal import print_study

    console = Console()
    for number, group in enumerate(group_runs([read_run(run) for run in runs])):
        if number:
            console.print()
        print_study(console, analyse(group.run))
