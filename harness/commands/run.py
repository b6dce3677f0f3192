"""``run``: run a study and write its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.commands.options import parse_options
from harness.study import StudyConfig, make_study

COMPUTE, WHERE, VIRTUAL, REPORT, LIMITS, MORE = (
    "What a cell holds", "Where it runs and writes", "With --executor virtual",
    "What the report shows", "When it stops early", "More",
)  # fmt: skip


def run(
    strategies: Annotated[
        str | None, typer.Option(help="Strategies, comma-separated, or 'all' (the default).")
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="What is tuned. [default: fashion_mnist; virtual: fashion_mnist_table]"),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="A count (3 means 0,1,2) or a list (0,5,7; '5,' is one). [default: 1]"),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Device-hours per cell: GPU-hours, or core-hours where there is no GPU. "
            "[default: about a minute (CPU) or five (GPU) of all its devices; virtual: 50 whole "
            "trainings; printed]",
            rich_help_panel=COMPUTE,
        ),
    ] = None,
    workers_per_trial: Annotated[
        int | None,
        typer.Option(
            help="Data-parallel workers. [default: 2; virtual: 1]", rich_help_panel=COMPUTE
        ),
    ] = None,
    devices_per_worker: Annotated[
        float | None,
        typer.Option(
            help="GPUs (or cores) per worker; parts allowed. [default: 1, or what there is]",
            rich_help_panel=COMPUTE,
        ),
    ] = None,
    max_concurrent: Annotated[
        int | None,
        typer.Option(
            help="Trials at once, at most. [default: what fits; real ones at most 8]",
            rich_help_panel=COMPUTE,
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            help="'cluster': real devices and time. 'virtual': a simulated cluster, many times "
            "faster. [default: cluster]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    devices: Annotated[
        int | None,
        typer.Option(
            help="Virtual devices that a cell holds. [default: 8]", rich_help_panel=VIRTUAL
        ),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            help="A JSON file of what starts, checkpoints etc. take. [default: as measured for "
            "the cluster executor]",
            rich_help_panel=VIRTUAL,
        ),
    ] = None,
    charge_searcher: Annotated[
        str | None,
        typer.Option(
            help="'fixed': the same time for every suggestion; 'measured': what it really takes "
            "(then no two runs are the same). [default: fixed]",
            rich_help_panel=VIRTUAL,
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="An existing Ray cluster ('auto' or HOST:PORT). [default: a local one]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Checkpoints: a local path, or an fsspec URL that every node reaches. "
            "[default: in the run folder]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the data set lies.", rich_help_panel=WHERE)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The run folder; one that is there is gone on with. [default: runs/NAME-TIME]",
            rich_help_panel=WHERE,
        ),
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            help="Validation scores worth reaching (0.8,0.85): how long each strategy took to. "
            "[default: the benchmark's own]",
            rich_help_panel=REPORT,
        ),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(
            help="Why the study is made. [default: what the run folder has]",
            rich_help_panel=REPORT,
        ),
    ] = None,
    decision: Annotated[
        list[str] | None,
        typer.Option(
            help="What followed from it; repeatable. The same command again with other ones, when "
            "the results are there, takes them over. [default: what the run folder has]",
            rich_help_panel=REPORT,
        ),
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            help="Follow the run in a tracker: mlflow[:URI], wandb[:[ENTITY/]PROJECT] or "
            "tensorboard[:FOLDER]; repeatable. [default: none]",
            rich_help_panel=REPORT,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="A YAML file with the same fields (workers_per_trial: 2, …); flags win.",
            rich_help_panel=MORE,
        ),
    ] = None,
    benchmark_option: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE, e.g. model=cnn or max_epochs=27; repeatable.", rich_help_panel=MORE
        ),
    ] = None,
    strategy_file: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that adds strategies; repeatable.", rich_help_panel=MORE),
    ] = None,
    benchmark_file: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that adds benchmarks; repeatable.", rich_help_panel=MORE),
    ] = None,
    data_seed: Annotated[
        int | None,
        typer.Option(help="Seed of the data split. [default: 0]", rich_help_panel=MORE),
    ] = None,
    max_same_failures: Annotated[
        int | None,
        typer.Option(
            help="End a cell when so many trials in a row fail alike; 0: never. [default: 3]",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    max_trials: Annotated[
        int | None,
        typer.Option(
            help="End a cell when so many of its trials have ended, whatever budget is left. "
            "[default: no limit]",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    max_hours: Annotated[
        float | None,
        typer.Option(
            help="Stop the study after so many hours of wall-clock; the same command goes on. "
            "[default: no limit]",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    max_disk_gb: Annotated[
        float | None,
        typer.Option(
            help="Stop the study when run folder and storage hold more. [default: no limit]",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    min_free_disk_gb: Annotated[
        float | None,
        typer.Option(
            help="Stop the study when a disk that it writes to has less free. [default: 1]",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    retrain: Annotated[
        int | None,
        typer.Option(
            help="When all cells are done, and outside the budget: train each one's incumbent "
            "again from its start, with so many seeds that no cell had. [default: 0]",
            rich_help_panel=MORE,
        ),
    ] = None,
) -> None:
    """Run every strategy under the same budget and write report.html.

    With the --out of a run that was interrupted, its finished cells are kept.
    """
    given = {
        "strategies": strategies,
        "benchmark": benchmark,
        "seeds": seeds,
        "budget": budget,
        "workers_per_trial": workers_per_trial,
        "devices_per_worker": devices_per_worker,
        "max_concurrent": max_concurrent,
        "executor": executor,
        "devices": devices,
        "costs": costs,
        "charge_searcher": charge_searcher,
        "address": address,
        "storage": storage,
        "data_dir": data_dir,
        "out": out,
        "targets": targets,
        "goal": goal,
        "decisions": decision or None,
        "benchmark_options": parse_options(benchmark_option) or None,
        "strategy_files": strategy_file or None,
        "benchmark_files": benchmark_file or None,
        "data_seed": data_seed,
        "max_same_failures": max_same_failures,
        "max_trials": max_trials,
        "max_hours": max_hours,
        "max_disk_gb": max_disk_gb,
        "min_free_disk_gb": min_free_disk_gb,
        "retrain": retrain,
        "track": track or None,
    }
    study = make_study({k: v for k, v in given.items() if v is not None}, config)
    raise typer.Exit(_run(study))


def _run(study: StudyConfig) -> int:
    # Late, because it imports Ray: `run --help` and the mistakes above answer at once.
    from harness.runner import run_study

    return run_study(study, Console())
