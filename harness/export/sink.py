"""What a tracker's module gives, and the one place where they are chosen by name."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from harness.export.targets import Target
from harness.export.tracked import TrackedRun


class Sink(Protocol):
    """A tracker, ready to take runs.

    Where one of its calls fails, nobody knows what arrived: it is opened anew, and finds out.
    """

    def push(self, run: TrackedRun) -> None:
        """Bring the tracker's copy of a run up to date; its parent's was before.

        Pushing the same again changes nothing.
        """

    def close(self) -> None:
        """Wait until everything has arrived."""


def open_sink(target: Target, run_folder: Path, root: TrackedRun) -> Sink:
    """Raises whatever the tracker's library raises where it cannot be reached."""
    # Late: each of these libraries takes seconds to load.
    if target.name == "mlflow":
        from harness.export.mlflow import MLflowSink

        return MLflowSink(target.place, root)
    if target.name == "wandb":
        from harness.export.wandb import WandbSink

        return WandbSink(target.place, run_folder)
    from harness.export.tensorboard import TensorBoardSink

    folder = run_folder / "tensorboard" if target.place is None else Path(target.place)
    return TensorBoardSink(folder, root)
