"""Finds out what is at an ``--address`` before Ray is told to connect to it.

``ray.init`` to a place where nothing listens tries for two minutes and then ends the process, and a
wrong token looks to it like a cluster that is still starting. One question to the cluster's head
(its version, asked over gRPC with a deadline) tells these cases apart at once. The question goes
through parts of Ray that are not public: checked with Ray 2.60.
"""

from __future__ import annotations

import json
import platform
from typing import Any

from harness.contract import UsageError

DEADLINE_S = 10.0

HOW_TO = "give auto on a node of a running cluster, or its head's HOST:PORT"


def find_cluster(address: str) -> str:
    """The ``HOST:PORT`` of the cluster at ``address`` (``auto``: the one of this machine).

    Raises:
        UsageError: nothing listens there, or no Ray head; it refuses this user's token; it has
            another version of Ray or Python.
    """
    import grpc

    place = _auto() if address == "auto" else _host_and_port(address)
    named = f"--address {address}" + (f" ({place})" if address == "auto" else "")
    try:
        metadata = _ask_for_metadata(place)
    except grpc.RpcError as error:
        raise UsageError(_explain(named, error)) from None
    _check_versions(named, metadata)
    return place


def _auto() -> str:
    from ray._private import services

    try:
        found: str = services.canonicalize_bootstrap_address_or_die("auto")
    except (ConnectionError, ValueError) as error:
        raise UsageError(
            f"--address auto: no Ray cluster was found on this machine ({error}). Start one with "
            "'ray start --head', or leave out --address to let this run start its own"
        ) from None
    return found


def _host_and_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    if "://" in address:
        raise UsageError(
            f"--address {address}: a study is a driver of its cluster and runs on one of its "
            f"nodes, so there is no use for a Ray client: {HOW_TO}"
        )
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise UsageError(f"--address {address} is no address: {HOW_TO}")
    return address


def _ask_for_metadata(place: str) -> bytes:
    """The head's word on its versions, as JSON; empty if it has none. Raises grpc.RpcError."""
    from ray._private.grpc_utils import init_grpc_channel
    from ray._raylet import AuthenticationTokenLoader  # type: ignore[attr-defined]  # no stub of it
    from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc

    # As ray.init does: a token that is there is shown, whatever RAY_AUTH_MODE says so far.
    token = AuthenticationTokenLoader.instance().get_token_for_http_header(ignore_auth_mode=True)
    with init_grpc_channel(place) as channel:
        answer = gcs_service_pb2_grpc.InternalKVGcsServiceStub(channel).InternalKVGet(
            gcs_service_pb2.InternalKVGetRequest(namespace=b"cluster", key=b"CLUSTER_METADATA"),
            timeout=DEADLINE_S,
            metadata=tuple(token.items()),
        )
    value: bytes = answer.value
    return value


def _explain(named: str, error: Any) -> str:
    import grpc

    if error.code() == grpc.StatusCode.UNAUTHENTICATED:
        return (
            f"{named}: the cluster refused this user's token, or there is none: put the cluster's "
            "token into RAY_AUTH_TOKEN, or its file's path into RAY_AUTH_TOKEN_PATH (default: "
            "~/.ray/auth_token)"
        )
    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"{named}: no answer within {DEADLINE_S:g} s. Is the host right? Else {HOW_TO}"
    return f"{named}: no head of a Ray cluster answers there ({error.details()}): {HOW_TO}"


def _check_versions(named: str, metadata: bytes) -> None:
    import ray

    theirs = json.loads(metadata) if metadata else {}
    ours = {"ray_version": ray.__version__, "python_version": platform.python_version()}
    other = [key for key, version in ours.items() if theirs.get(key) != version]
    if other:
        there, here = (
            ", ".join(f"{key.removesuffix('_version')} {have.get(key, '?')}" for key in other)
            for have in (theirs, ours)
        )
        raise UsageError(
            f"{named}: the cluster has {there}; this environment has {here}. Ray needs the same "
            "on both: run in the cluster's own environment, or install its versions here"
        )
