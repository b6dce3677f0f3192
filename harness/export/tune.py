"""A folder per finished cell that Ray Tune itself opens.

``tune.ResultGrid(tune.ExperimentAnalysis(FOLDER / CELL))`` has every trial with its configuration,
its results per epoch and its error, and the incumbent's checkpoint. It is made from the run
folder, on either executor: a cell keeps nothing of Tune's own files, whose state is a pickle.

The state file's form is Tune's own (checked with Ray 2.60), written with Tune's own classes; a test
opens it.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ray.air.constants import EXPR_ERROR_FILE, EXPR_PARAM_FILE, EXPR_RESULT_FILE
from ray.train._internal.session import _TrainingResult
from ray.train._internal.storage import StorageContext
from ray.tune import Checkpoint
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.utils.serialization import TuneFunctionEncoder

from harness.contract import UsageError
from harness.contract.records import BenchmarkRecord, Report, TrialEnd
from harness.tuning.incumbent import FOLDER as INCUMBENT_FOLDER
from reports.run import Cell, Run
from reports.store import cell_folder, cell_slug


def export_tune(run: Run, folder: Path) -> str:
    """Write every finished cell; returns where, in words. What was there of a cell is replaced.

    Raises:
        UsageError: no cell is finished.
    """
    if not run.cells:
        raise UsageError(f"{run.path} has no finished cell to export")
    for (strategy, seed), cell in run.cells.items():
        incumbent = cell_folder(run.path, strategy, seed) / INCUMBENT_FOLDER
        _write_cell(run, cell, folder.resolve() / cell_slug(strategy, seed), incumbent.resolve())
    left_out = f" ({len(run.problems)} cells not finished, left out)" if run.problems else ""
    return (
        f"{len(run.cells)} cells are in {folder.resolve()}{left_out}; open one with "
        "tune.ResultGrid(tune.ExperimentAnalysis(f'{that}/CELL'))"
    )


def _write_cell(run: Run, cell: Cell, folder: Path, incumbent: Path) -> None:
    state_name = TuneController.CKPT_FILE_TMPL.format("0")
    if folder.exists() and not (folder / state_name).exists():
        raise UsageError(f"{folder} holds other things: give tune:FOLDER another folder")
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    storage = StorageContext(str(new.parent), new.name)
    reports: dict[int, list[Report]] = {}
    for report in cell.reports:
        reports.setdefault(report.trial, []).append(report)
    zero_s = datetime.fromisoformat(run.study.created_at).timestamp()
    states = []
    for end in cell.ends:
        if end.retried:
            continue
        trial = _Trial(run.study.benchmark, storage, end, reports.get(end.trial, []), zero_s)
        best = cell.record.incumbent
        if best is not None and best.trial == end.trial and incumbent.is_dir():
            trial.keep_checkpoint(incumbent, best.epoch)
        states.append(trial.write())
    state = {"trial_data": states, "runner_data": {}, "stats": {"start_time": zero_s}}
    (new / state_name).write_text(json.dumps(state, cls=TuneFunctionEncoder))
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


class _Trial:
    """One trial as Tune keeps it."""

    def __init__(
        self,
        benchmark: BenchmarkRecord,
        storage: StorageContext,
        end: TrialEnd,
        reports: Sequence[Report],
        zero_s: float,
    ) -> None:
        self._end = end
        name = f"trial_{end.trial:05d}"
        trial_id = reports[0].tune_id if reports else name
        own_storage = copy.copy(storage)
        own_storage.trial_dir_name = name
        self._trial = Trial(
            "harness",
            config=dict(reports[-1].config if reports else end.config),
            trial_id=trial_id,
            storage=own_storage,
            trial_name_creator=lambda _: name,
            stub=True,
            _setup_default_resource=False,
        )
        self._trial.create_placement_group_factory()  # Tune wants one
        self._results = [_result(benchmark, report, trial_id, zero_s) for report in reports]
        if self._results:
            self._results[-1]["done"] = True
        for result in self._results:
            self._trial.update_last_result(result)
        has_failed = end.status == "failed"
        self._trial.set_status(Trial.ERROR if has_failed else Trial.TERMINATED)

    def keep_checkpoint(self, folder: Path, epoch: int) -> None:
        """The trial's checkpoint, where it lies in the run folder."""
        metrics = next(r for r in self._results if r["training_iteration"] == epoch)
        checkpoint = Checkpoint.from_directory(str(folder))
        manager = self._trial.run_metadata.checkpoint_manager
        manager.register_checkpoint(_TrainingResult(checkpoint, metrics))

    def write(self) -> tuple[str, str]:
        """Write the trial's folder; returns its two parts of the experiment's state."""
        folder = Path(self._trial.storage.trial_fs_path)
        folder.mkdir()
        (folder / EXPR_PARAM_FILE).write_text(json.dumps(self._trial.config))
        lines = [json.dumps(result) + "\n" for result in self._results]
        (folder / EXPR_RESULT_FILE).write_text("".join(lines))
        if self._trial.status == Trial.ERROR:
            (folder / EXPR_ERROR_FILE).write_text(f"{self._end.reason}\n")
            self._trial.run_metadata.error_filename = EXPR_ERROR_FILE
            self._trial.run_metadata.invalidate_cache()
        return self._trial.get_json_state()


def _result(
    benchmark: BenchmarkRecord, report: Report, trial_id: str, zero_s: float
) -> dict[str, Any]:
    """An epoch's result under the names that Tune uses."""
    scores = {
        "validation_loss": report.validation_loss,
        "train_loss": report.train_loss,
        benchmark.metric: report.validation_score,
        benchmark.test_metric or "test_score": report.test_score,
    }
    seconds = sum(span.seconds for span in report.spans)
    return {
        **{name: score for name, score in scores.items() if score is not None},
        "training_iteration": report.epoch,
        "trial_id": trial_id,
        "timestamp": round(zero_s + report.reported_s),
        "time_this_iter_s": seconds,
        "decision": report.decision,
        "done": False,
        "config": dict(report.config),
    }
