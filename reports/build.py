"""From run folders to ``results.parquet``, ``summary.json`` and ``report.html``."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.contract import UsageError
from harness.contract.files import write_atomically
from reports.analysis import analyse
from reports.analysis.frames import report_columns
from reports.merge import group_runs
from reports.page import render_page
from reports.store import REPORT_FILE, read_run
from reports.tables import write_results


def build_report(run: Path) -> Path:
    """Rebuild a run's results from its folder alone; returns the path of ``report.html``.

    Cells that are missing or damaged are shown as such.

    Raises:
        UsageError: ``run`` is not a run folder, its ``study.json`` cannot be read, or the folder
            cannot be written to.
    """
    with _no_garbage_collection():
        (group,) = group_runs([read_run(run)])
        columns = report_columns(group.run)
        analysis = analyse(group.run, columns)
        report = run / REPORT_FILE
        try:
            # Before the page, which has links to what there is.
            write_results(run, columns, analysis.summary)
            write_atomically(report, render_page([(group, analysis)], report))
        except OSError as error:
            raise UsageError(f"cannot write the report into {run}: {error.strerror}") from None
    return report


def build_page(runs: Sequence[Path], out: Path) -> Path:
    """Write one page about several runs; the run folders are left as they are.

    Raises:
        UsageError: one of ``runs`` is given twice, is not a run folder or its ``study.json`` cannot
            be read; or ``out`` cannot be written.
    """
    resolved = [run.resolve() for run in runs]
    twice = [str(run) for run in runs if resolved.count(run.resolve()) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is given twice: give each run folder once")
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder; give the file to write, e.g. {out}/report.html")
    with _no_garbage_collection():
        groups = group_runs([read_run(run) for run in runs])
        page = render_page([(group, analyse(group.run)) for group in groups], out)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(out, page)
        except OSError as error:
            raise UsageError(f"cannot write --out {out}: {error.strerror}") from None
    return out


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
