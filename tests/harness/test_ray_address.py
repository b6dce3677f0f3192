"""What ``--address`` finds: a cluster, or one clear message within seconds."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import ray

from harness.cluster.loopback import is_loopback
from harness.cluster.ray_address import DEADLINE_S, find_cluster
from harness.cluster.ray_cluster import RayCluster
from harness.contract import UsageError


def refusal(address: str) -> str:
    with pytest.raises(UsageError) as caught:
        find_cluster(address)
    return str(caught.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ray://head:10001", "no use for a Ray client"),
        ("head", "is no address: give auto"),
        ("head:port", "is no address"),
        ("head:123456", "is no address"),
        (":6379", "is no address"),
    ],
)
def test_what_is_no_address_of_a_cluster(address: str, message: str) -> None:
    assert message in refusal(address)


def test_nothing_listens_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        message = refusal(f"127.0.0.1:{free.getsockname()[1]}")
    assert "no head of a Ray cluster answers there" in message
    assert "Connection refused" in message


def test_an_unknown_host() -> None:
    assert "no head of a Ray cluster answers there" in refusal("no-such-host.invalid:6379")


def test_something_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cluster.ray_address.DEADLINE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        message = refusal(f"127.0.0.1:{silent.getsockname()[1]}")
    assert "no answer within 0.5 s" in message


def test_the_deadline_is_one_to_wait_for() -> None:
    assert DEADLINE_S <= 15


@pytest.fixture
def wrong_token(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from ray._raylet import AuthenticationTokenLoader

    loader = AuthenticationTokenLoader.instance()
    with monkeypatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", "0" * 64)
        loader.reset_cache()
        yield
    loader.reset_cache()


@pytest.mark.cluster
def test_a_cluster_is_found(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_cluster(cluster.address) == cluster.address
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    assert find_cluster("auto") == cluster.address
    assert is_loopback(cluster.address)


@pytest.mark.cluster
def test_a_local_cluster_refuses_who_has_not_its_token(
    cluster: RayCluster, wrong_token: None
) -> None:
    message = refusal(cluster.address)
    assert "refused this user's token" in message and "RAY_AUTH_TOKEN" in message
    assert "0000" not in message


@pytest.mark.cluster
def test_another_version_of_ray(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    there = ray.__version__
    monkeypatch.setattr(ray, "__version__", "2.59.0")
    message = refusal(cluster.address)
    assert f"the cluster has ray {there}; this environment has ray 2.59.0." in message
