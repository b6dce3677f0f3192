"""A session's state as bytes, for a checkpoint's file.

Torch is imported inside: processes that only hand such bytes on come by here, too.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any


def pack_state(state: Mapping[str, Any]) -> bytes:
    """A session's state as bytes that ``torch.load(weights_only=True)`` reads."""
    import torch

    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    return buffer.getvalue()


def unpack_state(packed: bytes) -> dict[str, Any]:
    """The inverse of :func:`pack_state`; never runs code from the bytes."""
    import torch

    state: dict[str, Any] = torch.load(io.BytesIO(packed), weights_only=True, map_location="cpu")
    return state
