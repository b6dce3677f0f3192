"""Where checkpoints go: local paths, fsspec URLs, and places that cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from pyarrow.fs import FSSpecHandler, PyFileSystem

from harness.cluster.storage import Storage, check_is_shared, is_local, open_storage
from harness.contract import UsageError


def through_a_driver_that_renames(folder: Path) -> Storage:
    """As sftp or a network disk: fsspec's own driver of a disk, not our path for local folders."""
    driver = DirFileSystem(str(folder), fsspec.filesystem("file"))
    return Storage("hpo", PyFileSystem(FSSpecHandler(driver)))


PLACES: dict[str, Callable[[Path], Storage]] = {
    "path": lambda folder: open_storage(f"{folder}/hpo"),
    "file": lambda folder: open_storage(f"file://{folder}/hpo"),
    "memory": lambda folder: open_storage(f"memory://{folder.name}/hpo"),
    "renames": through_a_driver_that_renames,
}


@pytest.fixture(params=PLACES)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return PLACES[request.param](tmp_path)


def test_files_are_written_replaced_listed_and_removed(storage: Storage) -> None:
    cell = storage.child("cell", "states")
    assert cell.names() == []
    with pytest.raises(FileNotFoundError):
        cell.read("a")
    cell.write("b", b"first")
    cell.write("a", b"\0" * 1000)
    cell.write("b", b"second")
    assert cell.names() == ["a", "b"]
    assert (cell.read("a"), cell.read("b")) == (b"\0" * 1000, b"second")
    assert storage.child("cell").names() == [], "folders are no files"
    cell.remove("a")
    cell.remove("a")
    assert cell.names() == ["b"]
    storage.child("cell").delete()
    storage.child("cell").delete()
    assert cell.names() == []
    assert storage.names() == [], "something was left of the check"


class Killed(BaseException):
    """What no driver catches."""


def test_a_write_that_ends_in_the_middle_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = through_a_driver_that_renames(tmp_path)
    storage.write("state", b"whole")

    def half(driver: Any, path: str, content: bytes) -> None:
        Path(tmp_path, path).write_bytes(content[: len(content) // 2])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(DirFileSystem, "pipe_file", half)
        for name in ("state", "other"):
            with pytest.raises(Killed):
                storage.write(name, b"never whole")
    assert storage.names() == ["state"]
    assert storage.read("state") == b"whole"


@pytest.mark.parametrize("given", ["{}/new", "file://{}/new", "local://{}/new"])
def test_a_local_folder_is_made(given: str, tmp_path: Path) -> None:
    given = given.format(tmp_path)
    storage = open_storage(given)
    assert (storage.path, storage.filesystem) == (str(tmp_path / "new"), None)
    assert is_local(given)


@pytest.mark.parametrize("wrong", ["nosuch://bucket", "/proc/hpo"])
def test_what_cannot_be_written_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=f"--storage {wrong} cannot be written"):
        open_storage(wrong)


@pytest.mark.parametrize("memory", ["memory://hpo", "simplecache::memory://hpo"])
def test_the_memory_of_one_process_is_no_place_for_a_study(memory: str) -> None:
    with pytest.raises(UsageError, match="is the memory of one process"):
        check_is_shared(memory)
    for shared in (None, "/disk/memory", "s3://memory/hpo"):
        check_is_shared(shared)
