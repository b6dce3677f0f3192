"""One virtual cell as a Ray task: its files come back as bytes, whatever node it ran on."""

from __future__ import annotations

import contextlib
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from harness.cell import CellProgress, CellSpec
from harness.clock import MonotonicClock
from harness.contract import Benchmark, Strategy
from harness.redaction import RedactingStream
from harness.virtual.cell import run_cell
from harness.virtual.costs import Costs

Files = dict[str, bytes]


@dataclass(frozen=True)
class CellTask:
    """``index``: the cell's in its study."""

    index: int
    spec: CellSpec
    strategy: Strategy
    costs: Costs


class ProgressBoard:
    """Where tasks say how far they are."""

    def __init__(self) -> None:
        self._news: dict[int, CellProgress] = {}

    def put(self, index: int, progress: CellProgress) -> None:
        self._news[index] = progress

    def take(self) -> list[tuple[int, CellProgress]]:
        news, self._news = self._news, {}
        return sorted(news.items())


def keep_to_one_core(benchmark: Benchmark) -> None:
    """One core is what a task asked for, and sums in another order are other numbers."""
    if not benchmark.light_sessions:
        import torch

        torch.set_num_threads(1)


@ray.remote(num_cpus=1, max_retries=2)
def run_cell_task(task: CellTask, benchmark: Benchmark, board: Any) -> Files:
    """Run a cell; the files of its folder. An error is in its log, and then there is no record."""

    def report(progress: CellProgress) -> None:
        board.put.remote(task.index, progress)

    report(CellProgress(phase="running"))
    keep_to_one_core(benchmark)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            (folder / "log.txt").open("w") as file,
            contextlib.closing(RedactingStream(file)) as log,
            contextlib.redirect_stderr(log),
        ):
            try:
                record = run_cell(
                    task.spec, task.strategy, benchmark, task.costs, folder, report,
                    MonotonicClock(),
                )  # fmt: skip
            except Exception:
                traceback.print_exc(file=log)
            else:
                (folder / "cell.json").write_text(record.model_dump_json(indent=2) + "\n")
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
