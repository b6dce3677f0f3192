"""``export RUN --to …``: a run's results in another tool's form; imports Ray only for Ray's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. runs/NAME.", metavar="RUN")],
    to: Annotated[
        list[str],
        typer.Option(
            help="mlflow[:URI], wandb[:[ENTITY/]PROJECT], tensorboard[:FOLDER], optuna:URL, "
            "csv[:FOLDER], parquet[:FOLDER] or tune[:FOLDER]; repeatable."
        ),
    ],
) -> None:
    """Hand a run's results to another tool; again and again changes nothing that is there."""
    from harness.export.export import export_run
    from harness.export.targets import check_installed, parse_target

    targets = [parse_target(given) for given in to]
    for target in targets:
        check_installed(target)
    for target in targets:
        typer.echo(export_run(run, target))
