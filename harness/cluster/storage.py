"""Where a study keeps checkpoints: a local folder, or any fsspec URL that all nodes reach."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contract import UsageError
from harness.contract.files import write_atomically
from harness.redaction import HIDDEN, redacted, redacted_about

REACHES_ALL = "an fsspec URL that every node reaches (s3://…, gs://…)"


@dataclass(frozen=True)
class Storage:
    """A folder, there or not.

    ``path`` and ``filesystem`` are what Ray's ``RunConfig`` takes: a path, and its pyarrow
    filesystem if not local. Files are whole or not there, also where the writer is killed.
    """

    path: str
    filesystem: Any = None

    def child(self, *parts: str) -> Storage:
        return Storage("/".join([self.path.rstrip("/"), *parts]), self.filesystem)

    def write(self, name: str, content: bytes) -> None:
        """Put a file into this folder, in place of one that is there."""
        if self.filesystem is None:
            folder = Path(self.path)
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / name, content)
        elif _renames(self._driver):
            self._driver.makedirs(self.path, exist_ok=True)
            temporary = self._file(f".{name}.{uuid.uuid4().hex[:8]}")
            self._driver.pipe_file(temporary, content)
            self._driver.mv(temporary, self._file(name))
        else:
            # An object store has no folders to make, and shows an object when all of it is there.
            self._driver.pipe_file(self._file(name), content)

    def read(self, name: str) -> bytes:
        """A file's content. Raises FileNotFoundError."""
        if self.filesystem is None:
            return Path(self.path, name).read_bytes()
        content: bytes = self._driver.cat_file(self._file(name))
        return content

    def names(self) -> list[str]:
        """The files in this folder, sorted; none where there is no folder."""
        if self.filesystem is None:
            found = [path.name for path in Path(self.path).glob("*") if path.is_file()]
        else:
            self._driver.invalidate_cache()
            try:
                entries = self._driver.ls(self.path, detail=True)
            except FileNotFoundError:
                return []
            found = [
                entry["name"].rpartition("/")[2] for entry in entries if entry["type"] == "file"
            ]
        # A killed writer's temporary file is none, nor is the mark of an empty folder.
        return sorted(name for name in found if name and not name.startswith("."))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if self.filesystem is None:
            Path(self.path, name).unlink(missing_ok=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                self._driver.rm_file(self._file(name))

    def delete(self) -> None:
        """Remove this folder and all in it, if it is there."""
        import pyarrow.fs

        filesystem = self.filesystem or pyarrow.fs.LocalFileSystem()
        if self.filesystem is not None:
            self._driver.invalidate_cache()
        if filesystem.get_file_info(self.path).type != pyarrow.fs.FileType.NotFound:
            filesystem.delete_dir(self.path)

    @property
    def _driver(self) -> Any:
        """The fsspec filesystem inside pyarrow's."""
        return self.filesystem.handler.fs

    def _file(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"


def is_local(storage: str | None) -> bool:
    """Whether a ``--storage`` is this machine's own disk (``None``: the run folder)."""
    return storage is None or "://" not in storage or storage.startswith(("file://", "local://"))


def local_folder(storage: str) -> Path:
    """The folder of a ``--storage`` that is this machine's own disk."""
    return Path(storage.split("://", 1)[-1]).expanduser().resolve()


def open_storage(storage: str) -> Storage:
    """Make a ``--storage`` ready for use, checked by writing to it.

    Raises:
        UsageError: unknown protocol, a missing driver, or a place that cannot be written.
    """
    try:
        place = _place(storage)
        probe = f"writable-{uuid.uuid4().hex[:8]}"
        place.write(probe, b"")
        place.remove(probe)
    except Exception as error:  # every driver raises its own kinds
        reason = redacted_about(storage, f"{type(error).__name__}: {error}")
        hint = f"Give a local path, or {REACHES_ALL} whose driver is installed."
        if f"{HIDDEN}@" in storage or f"={HIDDEN}" in storage:
            hint = f"Put the credentials that are not shown in place of {HIDDEN}."
        # Not "from error": its text, with whatever the URL holds, would be in the log.
        raise UsageError(
            f"--storage {redacted(storage)} cannot be written: {reason}. {hint}"
        ) from None
    return place


def check_is_shared(storage: str | None) -> None:
    """Refuse a place that only one process sees: a study's processes are many.

    Raises:
        UsageError: the memory of a process.
    """
    if storage is not None and any(part.startswith("memory://") for part in storage.split("::")):
        raise UsageError(
            f"--storage {storage} is the memory of one process, and a study's checkpoints are "
            f"written by one and read by another: give a local path, or {REACHES_ALL}"
        )


def _place(storage: str) -> Storage:
    if is_local(storage):
        return Storage(str(local_folder(storage)))
    import fsspec
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    filesystem, path = fsspec.core.url_to_fs(storage)
    return Storage(path, PyFileSystem(FSSpecHandler(filesystem)))


def _renames(driver: Any) -> bool:
    """Whether a driver moves files by a rename of its own. Those that have none are of object
    stores, where the inherited move is a copy."""
    from fsspec import AbstractFileSystem

    return type(driver).mv is not AbstractFileSystem.mv
