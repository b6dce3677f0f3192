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
) -> None:
    """Make a baseline of a finished run: a small text file to commit, for `harness check`."""
    from harness.check.baseline import make_baseline, refuse_unfit, write_baseline
    from reports.analysis import analyse
    from reports.store import read_run

    found = read_run(run)
    refuse_unfit(found)
    write_baseline(make_baseline(analyse(found)), out)
    typer.echo(out)
