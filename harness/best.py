"""A finished cell's incumbent as something to use: its configuration, its weights, and the code
that loads them. Reads the run folder alone: neither Ray nor torch is imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from harness.contract import Mode, UsageError, unknown_name
from harness.contract.records import CellRecord, ConfigValue, Incumbent, Record, StudyRecord
from harness.retraining.plan import incumbent_path
from harness.tuning.incumbent import FOLDER, RECORD_FILE, STATE_FILE, read_incumbent
from reports.store import UnreadableError, cell_folder, read_cell, read_study, verify_cell

BEST_FORMAT_VERSION: Final = 1


class Stage(Record):
    """Epochs ``first_epoch`` to ``last_epoch`` of a trial, trained with one configuration."""

    trial: int
    first_epoch: int
    last_epoch: int
    config: dict[str, ConfigValue]


class Best(Record):
    """``best --json``. ``checkpoint`` is an absolute path; where it is ``None``, ``no_checkpoint``
    says why and ``code`` is empty. ``lineage``: the configurations that the weights were trained
    with, one after another; the last one is ``config``. ``no_lineage``: why there is none."""

    format_version: Literal[1] = BEST_FORMAT_VERSION
    run: str
    benchmark: str
    strategy: str
    seed: int
    trial: int
    epoch: int
    metric: str
    mode: Mode
    validation_score: float
    test_metric: str | None
    test_score: float | None
    config: dict[str, ConfigValue]
    lineage: list[Stage]
    no_lineage: str | None = None
    checkpoint: str | None
    no_checkpoint: str | None = None
    code: list[str]
    cells_compared: int
    cells_without: dict[str, str]
    """Cells that were asked for and have no incumbent: name → why."""


def find_best(run: Path, strategy: str | None = None, seed: int | None = None) -> Best:
    """The incumbent with the best validation score among the cells asked for (``None``: any).

    Raises:
        UsageError: no run folder, a strategy or seed that the study does not have, or no cell asked
            for has an incumbent; the message says why of each.
    """
    study = read_study(run)
    found: dict[tuple[str, int], Incumbent] = {}
    without: dict[str, str] = {}
    for cell in _asked_for(study, strategy, seed):
        incumbent = _incumbent(run, *cell)
        if isinstance(incumbent, str):
            without[f"{cell[0]} seed {cell[1]}"] = incumbent
        else:
            found[cell] = incumbent
    if not found:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in without.items())
        raise UsageError(
            f"{run} has no incumbent to give:\n{reasons}\n"
            f"Ask for another --strategy or --seed, or go on with the study:\n  {study.command}"
        )
    sign = 1 if study.benchmark.mode == "max" else -1
    best = max(found, key=lambda cell: sign * found[cell].validation_score)
    return _describe(run, study, best, found[best], len(found), without)


def _asked_for(study: StudyRecord, strategy: str | None, seed: int | None) -> list[tuple[str, int]]:
    names = [record.name for record in study.strategies]
    if strategy is not None and strategy not in names:
        raise unknown_name("strategy of this run", strategy, names)
    if seed is not None and seed not in study.seeds:
        known = ", ".join(map(str, study.seeds))
        raise UsageError(f"this run has no seed {seed}. Its seeds: {known}.")
    return [
        (name, number)
        for name in names
        if strategy in (None, name)
        for number in study.seeds
        if seed in (None, number)
    ]


def _incumbent(run: Path, strategy: str, seed: int) -> Incumbent | str:
    """A cell's incumbent, or why it has none."""
    record = verify_cell(cell_folder(run, strategy, seed))
    if not isinstance(record, CellRecord):
        return record
    if (record.strategy, record.seed) != (strategy, seed):
        return f"its folder holds another cell: {record.strategy}, seed {record.seed}"
    if record.incumbent is None:
        return f"no epoch was reported with a finite score ({record.status}: {record.reason})"
    return record.incumbent


def _describe(
    run: Path,
    study: StudyRecord,
    cell: tuple[str, int],
    incumbent: Incumbent,
    cells_compared: int,
    without: dict[str, str],
) -> Best:
    folder = cell_folder(run, *cell)
    lineage = _lineage(folder, incumbent)
    checkpoint = _checkpoint(folder, study, incumbent)
    has_weights = isinstance(checkpoint, Path)
    return Best(
        run=str(run),
        benchmark=study.benchmark.name,
        strategy=cell[0],
        seed=cell[1],
        trial=incumbent.trial,
        epoch=incumbent.epoch,
        metric=study.benchmark.metric,
        mode=study.benchmark.mode,
        validation_score=incumbent.validation_score,
        test_metric=study.benchmark.test_metric,
        test_score=incumbent.test_score,
        config=incumbent.config,
        lineage=[] if isinstance(lineage, str) else lineage,
        no_lineage=lineage if isinstance(lineage, str) else None,
        checkpoint=str(checkpoint) if has_weights else None,
        no_checkpoint=None if has_weights else str(checkpoint),
        code=_code(run, study, incumbent.config, checkpoint) if has_weights else [],
        cells_compared=cells_compared,
        cells_without=without,
    )


def _lineage(folder: Path, incumbent: Incumbent) -> list[Stage] | str:
    """One stage for every stretch with the same trial and configuration, or why it is not known."""
    try:
        path = incumbent_path(read_cell(folder).reports, incumbent)
    except UnreadableError as error:
        return str(error)
    except KeyError:
        return "an epoch on the way to the incumbent was never reported"
    stages: list[Stage] = []
    for report in path:
        if stages and (stages[-1].trial, stages[-1].config) == (report.trial, report.config):
            stages[-1] = stages[-1].model_copy(update={"last_epoch": report.epoch})
        else:
            epoch = report.epoch
            stage = Stage(
                trial=report.trial, first_epoch=epoch, last_epoch=epoch, config=report.config
            )
            stages.append(stage)
    return stages


def _checkpoint(folder: Path, study: StudyRecord, incumbent: Incumbent) -> Path | str:
    """Where the incumbent's weights are, or why there are none."""
    place = folder / FOLDER
    try:
        kept = read_incumbent(folder)
    except OSError:
        return f"{place} is not there: the run folder was copied without its checkpoints"
    except ValueError:
        return f"{place / RECORD_FILE} is damaged"
    if kept != incumbent:
        return (
            f"the one in {place} is of another incumbent (trial {kept.trial}, epoch {kept.epoch}): "
            "this one's could not be kept; see the cell's warnings"
        )
    if (place / STATE_FILE).is_file():
        return (place / STATE_FILE).resolve()
    if study.executor == "virtual":
        return (
            f"a virtual run of {study.benchmark.name} has no weights: its scores come from a table "
            "or a formula, and the configuration is all there is to take"
        )
    return f"{place / STATE_FILE} is not there: the benchmark gave no state, or it was removed"


def _code(
    run: Path, study: StudyRecord, config: Mapping[str, ConfigValue], checkpoint: object
) -> list[str]:
    """Five lines. Texts go through ``repr``: a name in a stranger's folder stays a text."""
    files = [str(Path(file).resolve()) for file in study.study.get("benchmark_files", [])]
    place = repr(str(run.resolve())) + (f", benchmark_files={files!r}" if files else "")
    return [
        "import torch",
        "from harness.fresh_session import fresh_session",
        f"session = fresh_session({place})",
        f"session.start({dict(config)!r}, seed=0)",
        f'session.load(torch.load({str(checkpoint)!r}, weights_only=True, map_location="cpu"))',
    ]
