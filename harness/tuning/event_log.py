"""A cell's ``events.jsonl``, line by line."""

from __future__ import annotations

from pathlib import Path

from harness.contract.files import append_whole


class OtherHistoryError(Exception):
    """A cell that is led through its past came to something else than it had come to."""


class EventLog:
    """Appends to the file. Lines that it has already are not written again but compared: a cell
    that is gone on with tells its story from the start.

    ``is_followed``: every line is written at once, for whoever watches the file or looks after a
    crash.
    """

    def __init__(self, path: Path, *, is_followed: bool) -> None:
        self._file = path.open("ab+", buffering=0 if is_followed else -1)
        self._file.seek(0)
        text = self._file.read()
        lines = text[: text.rfind(b"\n") + 1].splitlines(keepends=True)
        # Who was killed at the cell's end had told what it cut; where the cell ends now is told by
        # who comes to it. (To drop a line too many does no harm: it is told again.)
        while lines and b'"status":"cut"' in lines[-1]:
            lines.pop()
        self._file.truncate(sum(map(len, lines)))
        self._there = iter(lines)

    def write(self, line: str) -> None:
        """Write a line, given without its end.

        Raises:
            OtherHistoryError: the file has another line there.
        """
        encoded = line.encode() + b"\n"
        before = next(self._there, None)
        if before is None:
            append_whole(self._file, encoded)
        elif before != encoded:
            raise OtherHistoryError(f"events.jsonl has {before!r} where now is {encoded!r}")

    def close(self) -> None:
        self._file.close()
