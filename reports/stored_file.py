"""Reading files that a stranger may have written: no more than meant, and nowhere else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from harness.contract import UsageError


class UnreadableError(UsageError):
    """A file of the run store that is missing, damaged, or of another format version."""


def read_stored_file(path: Path, root: Path, most_bytes: int, name: str) -> bytes:
    """The content of a plain file inside ``root``; ``name`` is what messages call it.

    Raises:
        UnreadableError: it cannot be read, a link leads out of ``root``, it is no plain file (a
            pipe would be waited for, a device has no end), or it has more than ``most_bytes``.
    """
    try:
        if not is_inside(path, root):
            raise UnreadableError(f"{name} is a link that leads out of the run folder")
        # Without waiting, should it be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableError(f"{name} is not a file")
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise UnreadableError(f"{name} cannot be read: {error.strerror}") from None
    if len(content) > most_bytes:
        raise UnreadableError(f"{name} is too large: more than {most_bytes / 2**20:,.0f} MiB")
    return content


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path is, all links followed, in a folder or below it."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False
