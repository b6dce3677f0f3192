"""``baseline RUN --out FILE``: the numbers that a later check compares; imports neither Ray nor
torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def baseline(
    run: Annotated[Path, typer.Argument(help="A finished run folder.", metavar="RUN")],
    out: Annotated[
        Path, typer.Option(help="The file to commit, e.g. baselines/NAME.json; replaced if there.")
    ],
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="A margin for later checks, NAME:SIZE[pt|%], e.g. best_score:0.1pt; repeatable."
        ),
    ] = None,
) -> None:
    """Make a baseline of a finished run: a small text file to commit, for `harness check`."""
    from harness.check.baseline import make_baseline, refuse_unfit, write_baseline
    from harness.check.measures import as_text, parse_margins
    from reports.analysis import analyse
    from reports.store import read_run

    margins = as_text(parse_margins(fail_on or []))
    found = read_run(run)
    refuse_unfit(found)
    write_baseline(make_baseline(analyse(found), margins), out)
    typer.echo(out)
