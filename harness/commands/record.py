"""``record``: make a recorded table from real training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.commands.options import parse_options
from harness.contract import UsageError

TRAIN, RUNS = "From training", "From runs"


def record(
    out: Annotated[Path, typer.Option(help="The table, a Parquet file; one that is there grows.")],
    benchmark: Annotated[
        str | None, typer.Option(help="Train this benchmark.", rich_help_panel=TRAIN)
    ] = None,
    configs: Annotated[
        int, typer.Option(min=2, help="How many configurations.", rich_help_panel=TRAIN)
    ] = 100,
    repeat_configs: Annotated[
        int,
        typer.Option(
            min=0, help="How many of them are trained with several seeds.", rich_help_panel=TRAIN
        ),
    ] = 0,
    repeat_where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME>NUMBER",
            help="Also all those, e.g. 'lr>0.05', where seeds differ most; or NAME<NUMBER; "
            "repeatable.",
            rich_help_panel=TRAIN,
        ),
    ] = None,
    repeat_seeds: Annotated[
        int, typer.Option(min=1, help="With how many.", rich_help_panel=TRAIN)
    ] = 3,
    benchmark_option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE, e.g. max_epochs=16; repeatable.", rich_help_panel=TRAIN),
    ] = None,
    benchmark_file: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that adds benchmarks; repeatable.", rich_help_panel=TRAIN),
    ] = None,
    design_seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of the configurations' sequence.", rich_help_panel=TRAIN),
    ] = 0,
    data_seed: Annotated[
        int, typer.Option(min=0, help="Seed of the data split.", rich_help_panel=TRAIN)
    ] = 0,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the data set lies.", rich_help_panel=TRAIN)
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Trainings at once. [default: one per core]", rich_help_panel=TRAIN
        ),
    ] = None,
    from_: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="A run folder whose whole curves are added; repeatable.",
            rich_help_panel=RUNS,
        ),
    ] = None,
) -> None:
    """Record learning curves of many configurations in a table, for the virtual executor.

    The same command again goes on where it stopped; larger numbers make the table grow.
    """
    if (benchmark is None) == (from_ is None):
        raise UsageError("give either --benchmark NAME (to train) or --from RUN (to collect)")
    console = Console()
    # Late, as they import torch, pandas and the rest: `record --help` answers at once.
    if from_ is not None:
        from harness.recording.from_runs import record_runs

        raise typer.Exit(record_runs(from_, out, console))
    from harness.recording.from_training import RecordingPlan, record_training

    assert benchmark is not None
    plan = RecordingPlan(
        benchmark=benchmark,
        options=parse_options(benchmark_option),
        files=tuple(benchmark_file or ()),
        configs=configs,
        repeat_configs=repeat_configs,
        repeat_where=tuple(repeat_where or ()),
        repeat_seeds=repeat_seeds,
        design_seed=design_seed,
        data_seed=data_seed,
        data_dir=data_dir,
        jobs=jobs,
    )
    raise typer.Exit(record_training(plan, out, console))
