"""Checkpoints on a real S3 server, on loopback."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from harness.cluster.storage import Storage, open_storage
from harness.contract import UsageError
from tests.harness.s3_server import s3_server

BUCKET = "checkpoints"


@pytest.fixture(scope="module")
def s3() -> Iterator[None]:
    with s3_server(BUCKET) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def storage(s3: None) -> Storage:
    return open_storage(f"s3://{BUCKET}/hpo")


def test_files_are_written_replaced_listed_and_removed(storage: Storage) -> None:
    cell = storage.child("cell", "states")
    assert cell.names() == []
    with pytest.raises(FileNotFoundError):
        cell.read("a")
    cell.write("a", b"first")
    cell.write("b", b"")
    cell.write("a", b"second")
    assert cell.names() == ["a", "b"]
    assert cell.read("a") == b"second"
    cell.remove("a")
    cell.remove("a")
    assert cell.names() == ["b"]
    storage.child("cell").delete()
    storage.child("cell").delete()
    assert (cell.names(), storage.names()) == ([], [])


def test_a_bucket_that_is_not_there_is_not_made(s3: None) -> None:
    with pytest.raises(UsageError, match="--storage s3://chekpoints/hpo cannot be written"):
        open_storage("s3://chekpoints/hpo")


MEGABYTES = 8
WRITER = f"""
import sys
from harness.cluster.storage import open_storage
storage = open_storage(sys.argv[1])
for number in range(10_000):
    storage.write("state", bytes([number % 2]) * {MEGABYTES * 2**20})
    print(number, flush=True)
"""


@pytest.mark.parametrize("place", [f"s3://{BUCKET}/killed", "disk"])
def test_a_writer_that_is_killed_leaves_a_whole_file(
    place: str, s3: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if place == "disk":
        place = str(tmp_path_factory.mktemp("disk"))
    rng = random.Random(0)
    storage = open_storage(place)
    for _ in range(2):
        command = [sys.executable, "-c", WRITER, place]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "0\n"
            time.sleep(rng.uniform(0.0, 0.2))
            writer.kill()
        state = storage.read("state")
        assert len(state) == MEGABYTES * 2**20
        assert len(set(state)) == 1, "parts of two writes"
        assert storage.names() == ["state"]
