"""Weights & Biases: a run per study, cell and trial; a cell's runs are one group.

Online or offline as ``WANDB_MODE`` says; the files are in ``WANDB_DIR``, or else in the run folder.
Runs have ids of their own keys. Which of them are complete is noted beside W&B's files, because
offline there is nobody to ask; one that is not is taken up where the server stands, and offline
written anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import wandb

from harness.export.tracked import Outcome, TrackedRun

DEFAULT_PROJECT = "tune-bench-harness"
TAGGED = ("strategy", "seed", "cell", "study")
_EXIT_CODES: dict[Outcome, int] = {"finished": 0, "failed": 1, "killed": 255}
_LONGEST_TAG, _LONGEST_GROUP = 64, 128

QUIET: dict[str, Any] = {
    "silent": True,
    "console": "off",
    "disable_git": True,
    "disable_code": True,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "x_save_requirements": False,
}
"""What W&B would collect about the process that pushes says nothing about the one that trained."""


os.environ.setdefault("WANDB_INIT_TIMEOUT", "20")
"""Seconds. A server that is down is tried again by whoever pushes."""


class WandbSink:
    """A :class:`harness.export.sink.Sink`.

    Args:
        place: ``PROJECT`` or ``ENTITY/PROJECT``; by default ``WANDB_PROJECT``, or else
            ``tune-bench-harness``.
    """

    def __init__(self, place: str | None, run_folder: Path) -> None:
        entity, _, project = (place or "").rpartition("/")
        settings = wandb.setup().settings
        if settings.mode == "disabled":
            raise RuntimeError("WANDB_MODE is 'disabled', so that nothing would be kept")
        self._entity = entity or settings.entity
        self._project = project or settings.project or DEFAULT_PROJECT
        self._is_offline = settings.mode in ("offline", "dryrun")
        self._root = Path(os.environ.get("WANDB_DIR") or run_folder)
        where = "offline" if self._is_offline else settings.base_url
        name = re.sub(r"[^\w.-]+", "-", f"complete-{where}-{self._entity or ''}-{self._project}")
        self._complete_file = self._root / "wandb" / f"{name}.txt"
        self._complete = (
            set(self._complete_file.read_text().split()) if self._complete_file.exists() else set()
        )
        self._open: dict[str, _OpenRun] = {}

    def push(self, run: TrackedRun) -> None:
        if run_id(run) in self._complete:
            return
        opened = self._open.get(run.key)
        if opened is None:
            opened = self._open[run.key] = _OpenRun(self._init(run))
        opened.log(run)
        if run.end is not None:
            self._open.pop(run.key).finish(run)
            if run.is_done:
                self._note_complete(run)

    def close(self) -> None:
        for opened in self._open.values():
            opened.leave()
        wandb.teardown()

    def _init(self, run: TrackedRun) -> wandb.Run:
        if self._is_offline:
            for earlier in (self._root / "wandb").glob(f"offline-run-*-{run_id(run)}"):
                shutil.rmtree(earlier)
        group = run.tags["study"] + (f" {run.tags['cell']}" if "cell" in run.tags else "")
        return wandb.init(
            entity=self._entity,
            project=self._project,
            id=run_id(run),
            name=run.name,
            group=group[:_LONGEST_GROUP],
            job_type=run.kind,
            tags=[f"{k}:{run.tags[k]}"[:_LONGEST_TAG] for k in TAGGED if k in run.tags],
            config={**run.parameters, "harness": run.tags},
            dir=self._root,
            resume=None if self._is_offline else "allow",
            reinit="create_new",
            settings=wandb.Settings(**QUIET),
        )

    def _note_complete(self, run: TrackedRun) -> None:
        self._complete.add(run_id(run))
        with self._complete_file.open("a") as file:
            file.write(run_id(run) + "\n")


class _OpenRun:
    """A run that W&B has open, and how many points it has of it."""

    def __init__(self, run: wandb.Run) -> None:
        self._run = run
        self._logged: int = run.step  # where the server stands; 0 for a new one, and offline
        run.define_metric("epoch", hidden=True)
        run.define_metric("*", step_metric="epoch")

    def log(self, run: TrackedRun) -> None:
        for point in run.points[self._logged :]:
            self._run.log(
                {**point.metrics, "epoch": point.step, "seconds": point.at_s - run.started_at_s}
            )
        self._logged = max(self._logged, len(run.points))

    def finish(self, run: TrackedRun) -> None:
        assert run.end is not None
        self._run.config.update({**run.parameters, "harness": run.tags}, allow_val_change=True)
        self._run.summary.update({**run.end.metrics, "status": run.end.status})
        if run.end.reason is not None:
            self._run.summary["reason"] = run.end.reason
        if run.files:
            report = wandb.Artifact(f"report-{run.tags['study_id']}", type="report")
            for path in run.files:
                report.add_file(str(path))
            self._run.log_artifact(report)
        self._run.finish(exit_code=_EXIT_CODES[run.end.outcome])

    def leave(self) -> None:
        """Finish a run that is to be taken up again."""
        self._run.finish(exit_code=_EXIT_CODES["killed"])


def run_id(run: TrackedRun) -> str:
    """W&B's id of a run: letters and digits, the same for the same key."""
    return hashlib.sha256(run.key.encode()).hexdigest()[:16]
