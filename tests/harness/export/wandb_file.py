"""Reads a ``.wandb`` file: a header, then records in LevelDB's log format.

W&B's own reader is in its Go core. https://github.com/google/leveldb/blob/main/doc/log_format.md
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record

FILE_HEADER, BLOCK_BYTES = struct.Struct("<4sHB"), 32768
RECORD_HEADER = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def records(path: Path) -> Iterator[Record]:
    content = path.read_bytes()
    name, magic, _ = FILE_HEADER.unpack_from(content)
    assert (name, magic) == (b":W&B", 0xBEE1), path
    at, whole = FILE_HEADER.size, b""
    while at + RECORD_HEADER.size <= len(content):
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < RECORD_HEADER.size:
            at += left
            continue
        _, length, kind = RECORD_HEADER.unpack_from(content, at)
        at += RECORD_HEADER.size
        whole += content[at : at + length]
        at += length
        if kind in (FULL, LAST):
            record = Record()
            record.ParseFromString(whole)
            whole = b""
            yield record
        else:
            assert kind in (FIRST, MIDDLE), kind
