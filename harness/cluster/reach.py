"""Checks, on every node of a cluster, that the study's storage is one place for all of them."""

from __future__ import annotations

import contextlib
import uuid

from harness.cluster.storage import REACHES_ALL, open_storage
from harness.contract import UsageError
from harness.redaction import redacted, redacted_about

TIMEOUT_S = 120.0


def check_every_node_reaches(storage: str) -> None:
    """Write a file here and read it on every node.

    Raises:
        UsageError: some node does not see it; the message names the first one and its reason.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place, probe = open_storage(storage), f"seen-{uuid.uuid4().hex[:8]}"
    place.write(probe, b"")
    try:
        ask = ray.remote(num_cpus=0)(_why_not)
        answers = {
            node["NodeManagerHostname"]: ask.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ).remote(storage, probe)
            for node in ray.nodes()
            if node["Alive"]
        }
        for host, answer in answers.items():
            if (reason := ray.get(answer, timeout=TIMEOUT_S)) is not None:
                raise UsageError(
                    f"--storage {redacted(storage)} is not the same place for all nodes: {host} "
                    f"does not see what this node wrote ({reason}); give a path on a disk that "
                    f"they share, or {REACHES_ALL}"
                )
    except ray.exceptions.GetTimeoutError:
        raise UsageError(
            f"the cluster's nodes did not say within {TIMEOUT_S:g} s whether they reach "
            f"--storage {redacted(storage)}: are they busy with something else?"
        ) from None
    finally:
        with contextlib.suppress(Exception):  # the answer matters more than an empty file
            place.remove(probe)


def _why_not(storage: str, probe: str) -> str | None:
    try:
        open_storage(storage).read(probe)
    except Exception as error:  # every driver raises its own kinds
        return redacted_about(storage, f"{type(error).__name__}: {error}")
    return None
