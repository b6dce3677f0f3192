"""The epochs whose training a report's weights went through, across exploited trials."""

from __future__ import annotations

from collections.abc import Sequence

from harness.contract.records import Report


def lineage(reports: Sequence[Report], trial: int, epoch: int) -> list[Report]:
    """The reports from epoch 1 to ``epoch`` of ``trial`` that its weights descend from.

    A trial goes on from its own epoch before, or from its ``parent``'s. An epoch that was trained
    several times counts as it was last known when the next one began.

    Args:
        reports: of one cell.

    Raises:
        KeyError: an epoch on the way was never reported.
    """
    by_epoch: dict[tuple[int, int], list[Report]] = {}
    for report in reports:
        by_epoch.setdefault((report.trial, report.epoch), []).append(report)
    path = [by_epoch[trial, epoch][-1]]
    while path[-1].epoch > 1:
        child = path[-1]
        parent = child.parent
        place = (child.trial, child.epoch - 1) if parent is None else (parent.trial, parent.epoch)
        earlier = [r for r in by_epoch[place] if r.reported_s <= child.started_s]
        if not earlier:
            raise KeyError(place)
        path.append(earlier[-1])
    return path[::-1]
