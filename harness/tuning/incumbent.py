"""The incumbent's checkpoint in a cell's folder."""

from __future__ import annotations

from pathlib import Path

from harness.contract.files import write_atomically
from harness.contract.records import Incumbent

FOLDER, STATE_FILE, RECORD_FILE = "incumbent", "state.pt", "incumbent.json"


def write_incumbent(
    cell_folder: Path, incumbent: Incumbent | None, packed_state: bytes | None
) -> None:
    """Write the record and, where there is one worth keeping, the state that belongs to it; what
    another incumbent left is gone. ``None``: there is no incumbent any more."""
    folder = cell_folder / FOLDER
    folder.mkdir(exist_ok=True)
    # First: a kill may leave a state without its record, and no record with another's state.
    (folder / RECORD_FILE).unlink(missing_ok=True)
    if packed_state is None:
        (folder / STATE_FILE).unlink(missing_ok=True)
    else:
        write_atomically(folder / STATE_FILE, packed_state)
    if incumbent is not None:
        write_atomically(folder / RECORD_FILE, incumbent.model_dump_json(indent=2))


def read_incumbent(cell_folder: Path) -> Incumbent:
    """The record that is there. Raises OSError or ValueError where it is not, or is damaged."""
    return Incumbent.model_validate_json((cell_folder / FOLDER / RECORD_FILE).read_bytes())
