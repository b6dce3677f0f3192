"""Where Ray keeps a cell's checkpoints: a local folder, or any fsspec URL that all nodes reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contract import UsageError


@dataclass(frozen=True)
class Storage:
    """A place as Ray's ``RunConfig`` takes it: a path, and its pyarrow filesystem if not local."""

    path: str
    filesystem: Any = None

    def child(self, *parts: str) -> Storage:
        return Storage("/".join([self.path.rstrip("/"), *parts]), self.filesystem)

    def delete(self) -> None:
        """Remove this folder and all in it, if it is there."""
        import pyarrow.fs

        filesystem = self.filesystem or pyarrow.fs.LocalFileSystem()
        if filesystem.get_file_info(self.path).type != pyarrow.fs.FileType.NotFound:
            filesystem.delete_dir(self.path)


def is_local(storage: str | None) -> bool:
    """Whether a ``--storage`` is this machine's own disk (``None``: the run folder)."""
    return storage is None or "://" not in storage or storage.startswith(("file://", "local://"))


def open_storage(storage: str) -> Storage:
    """Make a ``--storage`` ready for use, checked by writing to it.

    Raises:
        UsageError: unknown protocol, a missing driver, or a place that cannot be written.
    """
    import fsspec
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    try:
        if is_local(storage):
            path = Path(storage.split("://", 1)[-1]).expanduser().resolve()
            path.mkdir(parents=True, exist_ok=True)
            place = Storage(str(path))
            (path / ".writable").touch()
            (path / ".writable").unlink()
            return place
        filesystem, path_there = fsspec.core.url_to_fs(storage)
        filesystem.makedirs(path_there, exist_ok=True)
        probe = f"{path_there.rstrip('/')}/.writable"
        filesystem.pipe_file(probe, b"")
        filesystem.rm_file(probe)
    except Exception as error:  # every driver raises its own kinds
        raise UsageError(
            f"--storage {storage} cannot be written: {type(error).__name__}: {error}. "
            "Give a local path, or an fsspec URL (s3://…, gs://…) whose driver is installed."
        ) from error
    return Storage(path_there, PyFileSystem(FSSpecHandler(filesystem)))
