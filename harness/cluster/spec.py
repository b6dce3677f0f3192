"""What the study's process hands to a cluster cell's own process, as JSON."""

from __future__ import annotations

from harness.cell import CellSpec


class ClusterCellSpec(CellSpec):
    """A cell, and the cluster it runs on."""

    ray_address: str
    ships_code: bool
    """Send this project's packages to the nodes: a cluster that we did not start lacks them."""
    storage: str
    name: str
    """Unique per run of a cell: a Train or Tune run of the same name would be resumed."""
