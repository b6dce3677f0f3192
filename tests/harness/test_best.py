"""``best``: the incumbent, its checkpoint and the lines that load it; or why there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.registry import BENCHMARKS
from harness.best import Best, find_best
from harness.cli import app
from harness.contract import UsageError
from harness.contract.records import Incumbent, Parent, Report
from harness.fresh_session import fresh_session
from harness.tuning.incumbent import write_incumbent
from tests.reports.make_run import cell, report, study, write_cell, write_study

ROOT = Path(__file__).parents[2]
LINES_BEFORE_CODE = "five lines that load it into a fresh model:"


def best(run: Path, *words: str) -> str:
    result = CliRunner().invoke(app, ["best", str(run), *words])
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def loading_code(printed: str) -> str:
    """The five lines, out of what the command prints."""
    code = printed.split(f"{LINES_BEFORE_CODE}\n\n")[1].split("\n\n")[0]
    assert len(code.splitlines()) == 5
    return code


def scores_again(printed: str) -> dict[str, float]:
    """What a process that runs the printed lines measures with the loaded model."""
    code = loading_code(printed) + "\nimport json; print(json.dumps(dict(session.evaluate())))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return scores


def assert_scored_as_stored(run: Path, strategy: str) -> None:
    """For runs of benchmarks that train: validation and test score, measured again."""
    printed = best(run, "--strategy", strategy)
    found = Best.model_validate_json(best(run, "--strategy", strategy, "--json"))
    assert found.test_metric is not None
    again = scores_again(printed)
    assert again[found.metric] == found.validation_score
    assert again[found.test_metric] == found.test_score
    assert found.lineage[-1].config == found.config
    assert (found.lineage[-1].trial, found.lineage[-1].last_epoch) == (found.trial, found.epoch)


def incumbent_of(event: Report) -> Incumbent:
    return Incumbent(**event.model_dump(include=set(Incumbent.model_fields)))


def write_run(
    folder: Path,
    cells: dict[tuple[str, int], list[Report]],
    packed: bytes | None = b"",
    **fields: Any,
) -> Path:
    """A run in which the last report of each cell is its incumbent, kept with ``packed``."""
    names = tuple(dict.fromkeys(name for name, _ in cells))
    seeds = tuple(dict.fromkeys(seed for _, seed in cells))
    write_study(folder, study(names, seeds, **fields))
    for (name, seed), events in cells.items():
        kept = incumbent_of(events[-1]) if events else None
        own = write_cell(folder, cell(name, seed, incumbent=kept), events)
        if kept is not None:
            write_incumbent(own, kept, packed)
    return folder


def test_the_best_cell_by_validation_not_by_test(tmp_path: Path) -> None:
    cells = {
        ("a/b", 0): [report(0, 1, 0.7, 10.0, test_score=0.99)],
        ("a/b", 1): [report(0, 1, 0.9, 10.0, test_score=0.5)],
        ("c/d", 0): [report(0, 1, 0.8, 10.0, test_score=0.9)],
        ("c/d", 1): [report(0, 1, 0.6, 10.0, test_score=0.9)],
    }
    run = write_run(tmp_path / "max", cells)
    assert (find_best(run).strategy, find_best(run).seed) == ("a/b", 1)
    assert find_best(run, "c/d").seed == 0
    assert (find_best(run, seed=0).strategy, find_best(run, seed=0).cells_compared) == ("c/d", 2)
    less = write_run(tmp_path / "min", cells, mode="min")
    assert (find_best(less).strategy, find_best(less).seed) == ("c/d", 1)


def test_a_lineage_through_another_trial(tmp_path: Path) -> None:
    """Trial 1 takes over trial 0's second epoch, and changes its configuration once more."""
    first, second, third = {"lr": 1.0}, {"lr": 0.5}, {"lr": 0.25}
    events = [
        report(0, 1, 0.1, 1.0, config=first, started_s=0.0),
        report(0, 2, 0.2, 2.0, config=first, started_s=1.0),
        report(1, 3, 0.3, 3.0, config=second, started_s=2.0, parent=Parent(trial=0, epoch=2)),
        report(1, 4, 0.4, 4.0, config=third, started_s=3.0),
    ]
    run = write_run(tmp_path / "run", {("pbt", 0): events})
    found = find_best(run)
    stages = [(s.trial, s.first_epoch, s.last_epoch, s.config) for s in found.lineage]
    assert stages == [(0, 1, 2, first), (1, 3, 3, second), (1, 4, 4, third)]
    printed = best(run)
    assert "trial 0, epochs 1 to 2: lr=1.0" in printed and "trial 1, epoch 3: lr=0.5" in printed


def test_a_virtual_run_of_a_formula_has_a_configuration_only(tmp_path: Path) -> None:
    event = report(0, 1, 0.7, 10.0)
    run = write_run(tmp_path / "run", {("a", 0): [event]}, packed=None, executor="virtual")
    printed = best(run)
    assert "checkpoint: none; a virtual run of toy has no weights" in printed
    assert "lr  0.01" in printed and LINES_BEFORE_CODE not in printed
    found = Best.model_validate_json(best(run, "--json"))
    assert (found.checkpoint, found.code, found.config) == (None, [], event.config)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda kept: (kept / "state.pt").unlink(), "gave no state, or it was removed"),
        (lambda kept: (kept / "incumbent.json").unlink(), "was copied without its checkpoints"),
        (lambda kept: (kept / "incumbent.json").write_text("{"), "incumbent.json is damaged"),
        (
            lambda kept: write_incumbent(kept.parent, incumbent_of(report(7, 3, 0.1, 1.0)), b"7"),
            "is of another incumbent (trial 7, epoch 3)",
        ),
    ],
)  # fmt: skip
def test_a_checkpoint_that_is_not_the_incumbents(tmp_path: Path, spoil: Any, reason: str) -> None:
    run = write_run(tmp_path / "run", {("a", 0): [report(0, 1, 0.7, 10.0)]}, b"weights")
    assert find_best(run).checkpoint is not None
    spoil(run / "cells" / "a--seed-0" / "incumbent")
    found = find_best(run)
    assert (found.checkpoint, found.code) == (None, [])
    assert found.no_checkpoint is not None and reason in found.no_checkpoint


def test_why_there_is_no_incumbent(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {("a/b", 0): [], ("a/b", 1): [report(0, 1, 0.7, 10.0)]})
    (run / "cells" / "a-b--seed-1" / "cell.json").unlink()
    for words, message in [
        (["--strategy", "a/c"], "unknown strategy of this run 'a/c'. Did you mean 'a/b'?"),
        (["--seed", "5"], "this run has no seed 5. Its seeds: 0, 1."),
        (["--seed", "0"], "a/b seed 0: no epoch was reported with a finite score (completed: "),
        ([], "a/b seed 1: not finished: its folder has no cell.json"),
    ]:
        result = CliRunner().invoke(app, ["best", str(run), *words])
        assert isinstance(result.exception, UsageError) and message in str(result.exception)
    with pytest.raises(UsageError, match="is not a run folder"):
        find_best(tmp_path)


def test_names_of_a_strangers_run_stay_texts(tmp_path: Path) -> None:
    """The lines are Python: what a folder says must not become code, nor its files be imported."""
    trap = tmp_path / "trap.py"
    trap.write_text("raise SystemExit('imported')")
    name = "x': __import__('os').abort(), 'y"
    event = report(0, 1, 0.7, 10.0, config={name: "'); boom('"})
    asked = {"benchmark_files": [str(trap)]}
    run = write_run(tmp_path / "it's", {("a", 0): [event]}, b"weights", study=asked)
    code = find_best(run).code
    taken: list[Any] = []

    class Session:
        def start(self, config: dict[str, Any], seed: int) -> None:
            taken.append(config)

    exec(code[3], {"session": Session()})
    assert taken == [event.config]
    assert str(trap) in code[2], "which code is imported stands in the lines"
    with pytest.raises(UsageError, match="unknown benchmark 'toy'"):
        fresh_session(run)


def test_data_that_is_not_the_runs(tmp_path: Path) -> None:
    record = study()
    benchmark = record.benchmark.model_copy(update={"name": "noisy_quadratic", "options": {}})
    write_study(tmp_path / "run", record.model_copy(update={"benchmark": benchmark}))
    with pytest.raises(UsageError, match=r"is not what .* was trained on"):
        fresh_session(tmp_path / "run")


def test_it_imports_neither_ray_nor_torch(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {("a", 0): [report(0, 1, 0.7, 10.0)]})
    code = (
        "import sys; from typer.testing import CliRunner; from harness.cli import app\n"
        f"assert CliRunner().invoke(app, ['best', {str(run)!r}]).exit_code == 0\n"
        "print([m for m in ('ray', 'torch') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_session_says_which_model_is_its_own() -> None:
    """What a run's printed lines promise of ``session.model``: the very weights of ``state``."""
    import torch

    from benchmarks.registry import make_benchmark
    from harness.contract import Worker

    assert "fashion_mnist" in BENCHMARKS.names()
    benchmark = make_benchmark("fashion_mnist", {})
    session = benchmark.session(Worker(), benchmark.find_data(None), 0)
    session.start(
        {
            "lr": 0.1,
            "batch_size": 128,
            "width": 64,
            "depth": 1,
            "dropout": 0.0,
            "weight_decay": 0.0,
        },
        seed=0,
    )
    weights, kept = session.model.state_dict(), session.state()["model"]
    assert all(torch.equal(weights[name], tensor) for name, tensor in kept.items())
