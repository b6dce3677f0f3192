"""An epoch through the executor against the same epoch in a bare PyTorch loop.

The bare loop is what a user would write without this project: one process per worker,
``DistributedDataParallel`` over gloo, images as tensors in memory, validation and test after every
epoch. Both run the configuration of ``fixed_config.py``; the bare loop runs before and after the
cell, so that a machine that drifts is seen.

    python -m benchmarks.perf.executor_overhead [--workers 2] [--epochs 8] [--budget 0.02]
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch.nn.parallel import DistributedDataParallel

from benchmarks.fashion_mnist.data import find, load
from benchmarks.fashion_mnist.model import MLP
from benchmarks.perf.fixed_config import CONFIG
from harness.contract.records import Report
from reports.store import read_run

CONFIG_FILE = Path(__file__).with_name("fixed_config.py")


def bare_epochs(workers: int, epochs: int) -> list[float]:
    """Seconds of each epoch, as rank 0 sees them; the first one warms up and is left out."""
    with multiprocessing.Manager() as manager:
        seconds = manager.list()
        arguments = (workers, epochs + 1, seconds)
        mp.start_processes(_bare_worker, arguments, nprocs=workers, start_method="spawn")  # type: ignore[attr-defined]
        return list(seconds)[1:]


def _bare_worker(rank: int, workers: int, epochs: int, seconds: Any) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}
    dist.init_process_group("gloo", rank=rank, world_size=workers)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    splits = load(find(None), data_seed=0)
    scaled = [
        (s.images.float().div_(255).sub_(0.286).div_(0.353), s.labels)
        for s in (splits.train, splits.validation, splits.test)
    ]
    (images, labels), *held_out = scaled
    model = DistributedDataParallel(MLP(CONFIG["width"], CONFIG["depth"], CONFIG["dropout"]))  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=CONFIG["lr"], weight_decay=CONFIG["weight_decay"], fused=True
    )
    per_rank = int(CONFIG["batch_size"]) // workers
    for epoch in range(epochs):
        dist.barrier()
        started = time.perf_counter()
        model.train()
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
        for chosen in order[rank::workers].split(per_rank):
            optimizer.zero_grad()
            F.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                mine, truth = x[rank::workers], y[rank::workers]
                parts = [
                    (model.module(a).argmax(1) == b).sum()
                    for a, b in zip(mine.split(1000), truth.split(1000), strict=True)
                ]
                correct = torch.stack(parts).sum()
                dist.all_reduce(correct)
        if rank == 0:
            seconds.append(time.perf_counter() - started)
    dist.destroy_process_group()


def executor_epochs(workers: int, budget: float) -> list[float]:
    """Seconds from each report of a trial to its next: training and all that is around it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        command = [
            sys.executable, "-m", "harness", "run", "--strategies", "random/fifo",
            "--benchmark-file", str(CONFIG_FILE), "--benchmark", "fashion_mnist_fixed",
            "--benchmark-option", "max_epochs=1000", "--workers-per-trial", str(workers),
            "--max-concurrent", "1", "--budget", str(budget), "--out", str(out),
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (cell,) = read_run(out).cells.values()
    times = [event.reported_s for event in cell.reports if isinstance(event, Report)]
    return [after - before for before, after in itertools.pairwise(times)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--budget", type=float, default=0.02)
    given = parser.parse_args()
    before = bare_epochs(given.workers, given.epochs)
    through = executor_epochs(given.workers, given.budget)
    after = bare_epochs(given.workers, given.epochs)
    bare, executor = statistics.median(before + after), statistics.median(through)
    for name, values in (("bare, before", before), ("executor", through), ("bare, after", after)):
        print(
            f"{name:13s} median {statistics.median(values):.3f} s  min {min(values):.3f}  "
            f"max {max(values):.3f}  ({len(values)} epochs)"
        )
    print(f"an epoch through the executor takes {executor / bare:.3f} × the bare loop's")


if __name__ == "__main__":
    main()
