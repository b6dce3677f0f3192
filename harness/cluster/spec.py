"""What the study's process hands to a process of its own on the cluster, as JSON."""

from __future__ import annotations

from harness.cell import CellSpec, StudySpec
from harness.contract.records import Record, Retraining
from harness.retraining.job import RetrainJob


class ClusterSpec(StudySpec):
    """Work, and the cluster it runs on."""

    ray_address: str
    ships_code: bool
    """Send this project's packages to the nodes: a cluster that we did not start lacks them."""
    storage: str
    name: str
    """Of its folder in the storage, and of its Ray namespace: no other study's."""


class ClusterCellSpec(ClusterSpec, CellSpec):
    """A cell, and the cluster it runs on."""


class ClusterRetrainSpec(ClusterSpec):
    """Retrainings, and the cluster they run on."""

    jobs: list[RetrainJob]


class JobDone(Record):
    """What the retrainings' process says of each, as a line. ``job``: its index."""

    job: int
    retraining: Retraining
