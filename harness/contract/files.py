"""Files that are whole or not there: written under a temporary name, then moved into place."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


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
