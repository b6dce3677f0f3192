"""``surrogate``: how well a recorded table predicts configurations that it does not have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

if TYPE_CHECKING:
    from benchmarks.recorded.surrogate.accuracy import Accuracy, Fit, SeedSpread


def surrogate(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="A recorded table. [default: the one of fashion_mnist_table]", metavar="[TABLE]",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs instead of tables.")
    ] = False,
) -> None:  # fmt: skip
    """Show how well curves of configurations that were held out are predicted from the others."""
    accuracy = _measure(table)
    if as_json:
        typer.echo(accuracy.model_dump_json(indent=2))
        return
    _print(accuracy, Console())


def _measure(path: Path | None) -> Accuracy:
    # Late: pyarrow and scipy take a second that `--help` need not wait.
    from benchmarks.recorded.benchmark import SHIPPED_TABLE
    from benchmarks.recorded.replay import whole_table
    from benchmarks.recorded.surrogate.accuracy import FOLDS, measure_accuracy

    recorded, _ = whole_table(path or SHIPPED_TABLE)
    console = Console(stderr=True)
    steps = iter(
        track(
            range(FOLDS), "holding out configurations", console=console, transient=True,
            disable=not console.is_terminal,
        )
    )  # fmt: skip
    next(steps)
    return measure_accuracy(recorded, on_fold=lambda: next(steps, None))


def _print(accuracy: Accuracy, console: Console) -> None:
    console.print(
        f"{accuracy.benchmark}: {accuracy.configs} configurations, {accuracy.curves} curves; each "
        f"configuration predicted from the others, {accuracy.folds}-fold",
        highlight=False,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("predicted")
    table.add_column("R²", justify="right")
    table.add_column("Spearman", justify="right")
    _add(table, "final score", accuracy.final_score)
    for number, fit in enumerate(accuracy.score_by_epoch, start=1):
        _add(table, f"score at epoch {number}", fit)
    _add(table, "seconds per epoch", accuracy.epoch_seconds)
    if accuracy.between_seeds is not None:
        _add(table, "final score, by another seed's", accuracy.between_seeds)
    console.print(table)
    if accuracy.recorded_seed_sd is None or accuracy.reproduced_seed_sd is None:
        console.print("no configuration has several seeds: predicted curves have no seed noise")
        return
    for what, spread in (
        ("recorded", accuracy.recorded_seed_sd), ("reproduced", accuracy.reproduced_seed_sd)
    ):  # fmt: skip
        console.print(f"seed noise of the final score, {what}: {_said(spread)}", highlight=False)


def _add(table: Table, what: str, fit: Fit) -> None:
    table.add_row(what, f"{fit.r2:.3f}", f"{fit.spearman:.3f}")


def _said(spread: SeedSpread) -> str:
    return f"sd {spread.median:.4f} (median configuration), {spread.rms:.4f} (root mean square)"
