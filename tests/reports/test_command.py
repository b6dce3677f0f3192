"""``report RUN``, and what it may import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.commands.report import report
from harness.contract import UsageError
from tests.reports.make_run import study, write_realistic_run, write_study


def test_it_rebuilds_all_three_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_realistic_run(tmp_path / "run", ["random/asha"], seeds=(0,))
    report([run])
    assert capsys.readouterr().out == f"{run / 'report.html'}\n"
    assert {"report.html", "results.parquet", "summary.json"} <= {p.name for p in run.iterdir()}


def test_a_folder_that_is_no_run_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run folder"):
        report([tmp_path])
    write_study(tmp_path, study())
    (tmp_path / "study.json").write_text('{"format_version": 1')
    with pytest.raises(UsageError, match=r"study\.json is damaged"):
        report([tmp_path])


def test_a_folder_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    run = write_study(tmp_path, study())
    (run / "results.parquet").mkdir()
    with pytest.raises(UsageError, match="cannot write the report into"):
        report([run])


def test_neither_ray_nor_torch_nor_the_harness_is_imported(tmp_path: Path) -> None:
    """In a process of its own: pytest's has them imported already."""
    run = write_realistic_run(tmp_path, ["random/asha"], seeds=(0,))
    program = (
        "import sys; from pathlib import Path; from harness.commands.report import report; "
        f"report([Path({str(run)!r})]); "
        "names = set(sys.modules); "
        "print(sorted({n.split('.')[0] for n in names} & {'ray', 'torch', 'optuna', 'hyperopt', "
        "'strategies', 'benchmarks'})); "
        "print(sorted(n for n in names if n.startswith('harness.') and not "
        "n.startswith(('harness.contract', 'harness.commands'))))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=root, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["[]", "[]"]
