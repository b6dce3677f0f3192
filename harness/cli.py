"""The command line: one module per command in :mod:`harness.commands`."""

from __future__ import annotations

import sys

import typer

from harness.commands.baseline import baseline
from harness.commands.best import best
from harness.commands.check import check
from harness.commands.doctor import doctor
from harness.commands.export import export
from harness.commands.init import init
from harness.commands.list_ import list_
from harness.commands.record import record
from harness.commands.report import report
from harness.commands.run import run
from harness.commands.show import show
from harness.commands.surrogate import surrogate
from harness.contract import HarnessError
from harness.contract.text import printable
from harness.redaction import redacted

INTERRUPTED_EXIT_CODE = 130

app = typer.Typer(
    name="harness",
    help="Which Ray Tune searcher + scheduler pair should I use for my training job and budget?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("run")(run)
app.command("init")(init)
app.command("doctor")(doctor)
app.command("list")(list_)
app.command("record")(record)
app.command("report")(report)
app.command("show")(show)
app.command("best")(best)
app.command("export")(export)
app.command("baseline")(baseline)
app.command("check")(check)
app.command("surrogate")(surrogate)


def main() -> None:
    """Run a command; a mistake of the user's is one message and exit code 2."""
    try:
        app()
    except HarnessError as error:
        print(f"error: {redacted(printable(str(error)))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED_EXIT_CODE)
