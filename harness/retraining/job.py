"""One retraining as data."""

from __future__ import annotations

from harness.contract.records import ConfigValue, Record


class RetrainJob(Record):
    """An incumbent's training, from its start, with a seed of its own.

    ``cell``: its index in the study. ``configs``: what is trained, epoch by epoch.
    ``epoch_seconds``: what the longest of these epochs took in the cell.
    """

    cell: int
    configs: list[dict[str, ConfigValue]]
    seed: int
    epoch_seconds: float
