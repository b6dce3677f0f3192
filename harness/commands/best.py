"""``best RUN``: the incumbent's configuration, its checkpoint, and the code that loads it; imports
neither Ray nor torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.console import say

if TYPE_CHECKING:
    from harness.best import Best
    from harness.contract.records import ConfigValue


def best(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. runs/NAME.", metavar="RUN")],
    strategy: Annotated[
        str | None,
        typer.Option(help="Whose incumbent. [default: the best of all strategies, by validation]"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Of which cell. [default: the best of all seeds, by validation]"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs instead of text.")
    ] = False,
) -> None:
    """Show the best configuration found, where its weights are, and five lines that load them."""
    # Late: pandas takes seconds that the other commands need not wait.
    from harness.best import find_best

    found = find_best(run, strategy, seed)
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
        return
    console = Console()
    for line in _lines(found):
        say(console, line)


def _lines(best: Best) -> Iterable[str]:
    yield f"incumbent of {best.strategy}, seed {best.seed} ({_chosen(best)})"
    yield f"{best.metric} {best.validation_score:.6g}, by which it was chosen ({best.mode})"
    if best.test_score is not None:
        yield f"{best.test_metric} {best.test_score:.6g}"
    yield f"trial {best.trial}, epoch {best.epoch}"
    yield "configuration:"
    yield from _indented(best.config)
    if len(best.lineage) > 1:
        yield "its weights were trained with, one after another:"
        for stage in best.lineage:
            epochs = f"epochs {stage.first_epoch} to {stage.last_epoch}"
            if stage.first_epoch == stage.last_epoch:
                epochs = f"epoch {stage.first_epoch}"
            values = ", ".join(f"{name}={value}" for name, value in stage.config.items())
            yield f"  trial {stage.trial}, {epochs}: {values}"
    if best.no_lineage is not None:
        yield f"the configurations on the way to it are not known: {best.no_lineage}"
    for name, reason in best.cells_without.items():
        yield f"not compared: {name}: {reason}"
    if best.checkpoint is None:
        yield f"checkpoint: none; {best.no_checkpoint}"
        return
    yield f"checkpoint: {best.checkpoint}"
    yield "five lines that load it into a fresh model:"
    yield ""
    yield from best.code
    yield ""
    yield "then session.evaluate() scores it again; session.model is its torch module, if any"


def _chosen(best: Best) -> str:
    if best.cells_compared == 1:
        return "the only cell compared"
    return f"the best by {best.metric} of {best.cells_compared} cells"


def _indented(config: Mapping[str, ConfigValue]) -> Iterable[str]:
    width = max(map(len, config), default=0)
    return (f"  {name:<{width}}  {value}" for name, value in config.items())
