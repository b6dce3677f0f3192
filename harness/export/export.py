"""Exports a run folder to any target."""

from __future__ import annotations

from pathlib import Path

from harness.contract import HarnessError
from harness.export.targets import TRACKERS, Target
from reports.store import read_run


class ExportError(HarnessError):
    """The other tool did not take it."""


def export_run(folder: Path, target: Target) -> str:
    """Export what a run folder holds; returns a line that says what went where.

    Raises:
        UsageError: not a run folder, or nothing that could be exported.
        ExportError: the other tool cannot be reached, or refuses.
    """
    try:
        return _export(folder, target)
    except HarnessError:
        raise
    except Exception as error:  # every library raises its own kinds
        reason = target.clean(f"{type(error).__name__}: {error}")
        raise ExportError(f"{target} did not take it: {reason}") from None


def _export(folder: Path, target: Target) -> str:
    # Late: each needs another library.
    if target.name in TRACKERS:
        from harness.export.push import push_run

        count = push_run(folder, target)
        return f"{count} runs (the study, its cells, their trials) are in {target}"
    if target.name == "optuna":
        from harness.export.optuna import export_optuna

        assert target.place is not None
        return f"{export_optuna(read_run(folder), target.place)} in {target}"
    if target.name == "tune":
        from harness.export.tune import export_tune

        return export_tune(read_run(folder), Path(target.place or folder / "tune"))
    from harness.export.tabular import export_tables

    return export_tables(read_run(folder), target.name, Path(target.place or folder / "tables"))
