"""From a run folder to ``results.parquet``, ``summary.json`` and ``report.html``."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.contract import UsageError
from harness.contract.files import write_atomically
from reports.analysis import analyse
from reports.page import render_page
from reports.store import read_run
from reports.tables import write_results

REPORT_FILE = "report.html"


def build_report(run: Path) -> Path:
    """Rebuild a run's results from its folder alone; returns the path of ``report.html``.

    Cells that are missing or damaged are shown as such.

    Raises:
        UsageError: ``run`` is not a run folder, its ``study.json`` cannot be read, or the folder
            cannot be written to.
    """
    with _no_garbage_collection():
        analysis = analyse(read_run(run))
        page = render_page(analysis)
        report = run / REPORT_FILE
        try:
            write_results(analysis.run, analysis.summary)
            write_atomically(report, page)
        except OSError as error:
            raise UsageError(f"cannot write the report into {run}: {error.strerror}") from None
    return report


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A long study is a million objects, none of them garbage, through which Python would look for
    cycles again and again: half of the time that reading takes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
