"""What things take that a benchmark cannot know: read from a small file of measured costs."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from harness.contract import UsageError
from harness.contract.records import Record

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Costs(Record):
    """Seconds that a slot (or, for a suggestion, Tune's loop) is busy or idle.

    ``setup``: a cell's start; shown, not billed. ``actor_start``: a trial actor that is not reused
    (the first ones start during the set-up). ``actor_stop``: until a slot whose actor ends is free.
    ``reset``: a reused actor's turn to its next trial. ``epoch_gap``: from a report, or the turn to
    a trial, to its next epoch. ``save``, ``restore``: writing and reading a checkpoint.
    ``suggestion``: a model-based searcher's proposal.

    To epochs whose cost is known as processor time only: ``epoch_stretch``, wall-clock seconds of
    a cluster's worker per processor second of a lone one (Ray's own processes want the cores too);
    ``pack``, packing an epoch's state.
    """

    format_version: Literal[1] = 1
    source: str
    setup_seconds: Seconds
    actor_start_seconds: Seconds
    actor_stop_seconds: Seconds
    reset_seconds: Seconds
    epoch_gap_seconds: Seconds
    save_seconds: Seconds
    restore_seconds: Seconds
    suggestion_seconds: Seconds
    pack_seconds: Seconds
    epoch_stretch: Annotated[float, Field(ge=1, allow_inf_nan=False)]


def read_costs(path: Path | None) -> Costs:
    """The costs in a file; by default those that ship with the project.

    Raises:
        UsageError: no such file, or not such costs; the message names every mistake.
    """
    try:
        text = (files(__package__) / "costs.json").read_text() if path is None else path.read_text()
        return Costs.model_validate(json.loads(text))
    except OSError as error:
        raise UsageError(f"cannot read --costs {path}: {error.strerror}") from None
    except ValidationError as error:
        mistakes = "; ".join(
            f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg'].lower()}"
            for mistake in error.errors()
        )
        raise UsageError(f"--costs {path} does not hold virtual costs: {mistakes}") from None
    except ValueError as error:
        raise UsageError(f"--costs {path} is not valid JSON: {error}") from None
