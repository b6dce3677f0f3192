"""Where checkpoints go: local paths, fsspec URLs, and places that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.storage import is_local, open_storage
from harness.contract import UsageError


@pytest.mark.parametrize("given", ["{}/new", "file://{}/new", "local://{}/new"])
def test_a_local_folder_is_made_and_its_children_deleted(given: str, tmp_path: Path) -> None:
    storage = open_storage(given.format(tmp_path))
    assert (storage.path, storage.filesystem) == (str(tmp_path / "new"), None)
    child = storage.child("cell")
    child.delete()
    (tmp_path / "new" / "cell").mkdir()
    child.delete()
    assert list((tmp_path / "new").iterdir()) == []


def test_a_url_goes_through_fsspec() -> None:
    storage = open_storage("memory://bucket/hpo")
    assert not is_local("memory://bucket/hpo")
    storage.filesystem.create_dir(storage.child("cell").path)
    storage.child("cell").delete()
    assert storage.filesystem.get_file_info(storage.child("cell").path).type.name == "NotFound"


@pytest.mark.parametrize("wrong", ["nosuch://bucket", "/proc/hpo"])
def test_what_cannot_be_written_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=f"--storage {wrong} cannot be written"):
        open_storage(wrong)
