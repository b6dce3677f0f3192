"""From a run folder to ``results.parquet``, ``summary.json`` and ``report.html``."""

from __future__ import annotations

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
    analysis = analyse(read_run(run))
    page = render_page(analysis)
    report = run / REPORT_FILE
    try:
        write_results(analysis.run, analysis.summary)
        write_atomically(report, page)
    except OSError as error:
        raise UsageError(f"cannot write the report into {run}: {error.strerror}") from None
    return report
