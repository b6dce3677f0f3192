"""Files that are whole or not there: written under a temporary name, then moved into place."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a crash leaves the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    data = content.encode() if isinstance(content, str) else content
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def append_whole(file: BinaryIO, line: bytes) -> None:
    """Append to a file that was opened for that. On a disk that gets full a raw write may stop in
    the middle of a line without an error.

    Raises:
        OSError: ENOSPC, and nothing of the line is left.
    """
    written = file.write(line)
    if written != len(line):
        os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)
