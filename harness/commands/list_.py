"""``list``: the strategies and benchmarks there are, and why some cannot be used."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.registry import BENCHMARKS
from harness.console import say
from harness.contract import Benchmark, Strategy
from harness.contract.registry import Entry
from strategies.registry import STRATEGIES

LIST_FORMAT_VERSION: Final = 1

T = TypeVar("T")
Row = dict[str, Any]


def list_(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs instead of tables.")
    ] = False,
    strategy_file: Annotated[
        list[Path], typer.Option(help="A Python file that defines strategies; may be repeated.")
    ] = [],  # noqa: B006 -- typer copies it
    benchmark_file: Annotated[
        list[Path], typer.Option(help="A Python file that defines benchmarks; may be repeated.")
    ] = [],  # noqa: B006
) -> None:
    """Show all strategies and benchmarks: what they are, can do, and where they come from."""
    for path in strategy_file:
        STRATEGIES.add_file(path)
    for path in benchmark_file:
        BENCHMARKS.add_file(path)
    strategies = [_row(entry, _strategy_facts) for entry in STRATEGIES.entries().values()]
    benchmarks = [_row(entry, _benchmark_facts) for entry in BENCHMARKS.entries().values()]
    if as_json:
        listing = {
            "format_version": LIST_FORMAT_VERSION,
            "strategies": strategies,
            "benchmarks": benchmarks,
        }
        typer.echo(json.dumps(listing, indent=2))
        return
    console = Console()
    _print_strategies(console, strategies)
    _print_benchmarks(console, benchmarks)


def _row(entry: Entry[T], facts: Any) -> Row:
    """An entry as plain data; the facts of one that cannot be imported are absent."""
    row: Row = {"name": entry.name, "source": entry.source, "problem": entry.problem}
    return row if entry.value is None else row | facts(entry.value)


def _strategy_facts(strategy: Strategy) -> Row:
    return {
        "summary": strategy.summary,
        "searcher": strategy.searcher,
        "scheduler": strategy.scheduler,
        "stops_early": strategy.stops_early,
        "needs_checkpoints": strategy.needs_checkpoints,
        "changes_config": strategy.changes_config,
        "requires": list(strategy.requires),
    }


def _benchmark_facts(benchmark: type[Benchmark]) -> Row:
    """Metric and mode are ``None`` where an option decides them."""
    options = _options(benchmark)
    return {
        "summary": benchmark.summary,
        "metric": getattr(benchmark, "metric", None),
        "mode": getattr(benchmark, "mode", None),
        "test_metric": benchmark.test_metric,
        "gives_checkpoints": benchmark.gives_checkpoints,
        "mutable": sorted(benchmark.mutable),
        "max_epochs": options.get("max_epochs"),
        "options": options,
        "requires": list(benchmark.requires),
    }


def _options(benchmark: type[Benchmark]) -> Row:
    """The benchmark's options with their defaults, ``None`` where one must be given."""
    if not dataclasses.is_dataclass(benchmark):
        return {}
    return {
        field.name: None if field.default is dataclasses.MISSING else _plain(field.default)
        for field in dataclasses.fields(benchmark)
        if field.init
    }


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _print_strategies(console: Console, rows: list[Row]) -> None:
    table = _table("strategy", "does and needs")
    for row in _usable(rows):
        abilities = {
            "stops early": row["stops_early"],
            "changes configs": row["changes_config"],
            "needs checkpoints": row["needs_checkpoints"],
        }
        said = ", ".join(ability for ability, has in abilities.items() if has)
        table.add_row(row["name"], row["summary"], said or "–", row["source"])
    console.print(table)
    _print_problems(console, rows)


def _print_benchmarks(console: Console, rows: list[Row]) -> None:
    table = _table("benchmark", "metric and cap")
    for row in _usable(rows):
        cap = "" if row["max_epochs"] is None else f", {row['max_epochs']} epochs"
        without = "" if row["gives_checkpoints"] else ", no checkpoints"
        aim = "an option's" if row["metric"] is None else f"{row['metric']} ({row['mode']})"
        said = f"{aim}{cap}{without}"
        table.add_row(row["name"], row["summary"], said, row["source"])
    console.print(table)
    _print_problems(console, rows)


def _usable(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["problem"] is None]


def _table(kind: str, facts: str) -> Table:
    """Readable at 80 columns: what is long folds, names never do."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(kind, no_wrap=True)
    table.add_column("what it is", overflow="fold")
    table.add_column(facts, overflow="fold", max_width=20)
    table.add_column("from", overflow="fold", min_width=8)
    return table


def _print_problems(console: Console, rows: list[Row]) -> None:
    for row in rows:
        if row["problem"] is not None:
            line = f"cannot be used: {row['name']} ({row['source']}): {row['problem']}"
            say(console, line, "yellow")
