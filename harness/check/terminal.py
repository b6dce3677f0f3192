"""A check's rows and headline, for a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.check.outputs import HEADER, cells_of
from harness.console import say
from harness.contract.check import CheckRecord, Mark
from harness.contract.text import printable

STYLES: dict[Mark, str] = {
    "+": "green", "-": "bold red", "!": "bold red", "?": "yellow", "x": "dim", "~": "",
}  # fmt: skip
WIDE_COLUMNS = 120
"""A narrower terminal gets fewer columns, so that names and numbers stay whole."""
WIDE_ONLY = frozenset({"95 % interval", "margin", "seeds"})


def print_check(console: Console, check: CheckRecord) -> None:
    """Print the table, why rows are neither same nor better, and the headline."""
    is_wide = console.width >= WIDE_COLUMNS
    shown = [i for i, name in enumerate(HEADER) if is_wide or name not in WIDE_ONLY]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i in shown:
        is_name = HEADER[i] in ("strategy", "measure")
        table.add_column(HEADER[i], overflow="fold", justify="left" if i < 3 else "right",
                         no_wrap=not is_name)  # fmt: skip
    for row in check.rows:
        cells = cells_of(row)
        # Text, not markup: a strategy may be called "[red]".
        table.add_row(*(Text(printable(cells[i]), style=STYLES[row.mark]) for i in shown))
    console.print(table)
    for row in check.rows:
        if row.mark not in "~+":
            say(console, f"{row.mark} {row.strategy}, {row.title}: {row.reason}")
    console.print(Text(printable(check.headline), style="bold"))
