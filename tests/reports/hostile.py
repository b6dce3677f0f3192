"""Mutations of a run folder's files, as somebody might make them who means no good."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

TEXTS = (
    "", "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "\x1b[2J\x1b]0;owned\x07",
    "$\\frac$", "a`b", "{{ 7*7 }}", "../../etc", "\x00", "\u202egpj", "x" * 5000, "NaN",
    "-Infinity",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 10**30, 1e308, -1e308, 5e-324, 0.5, 2**31, 10**9)
VALUES: tuple[Any, ...] = (
    None, True, *NUMBERS, *TEXTS, [], {}, [[]], {"a": {"b": [1]}}, json.loads("[" * 60 + "]" * 60),
)  # fmt: skip

VALUES_OF: dict[type, tuple[Any, ...]] = {
    bool: (True, False), str: TEXTS, int: (0, 1, 2, 3, 9, 10_000),
    float: (0.0, 1.0, -1.0, 0.5, 1e308, -1e308, 5e-324, "NaN", "Infinity", "-Infinity"),
}  # fmt: skip
"""What a record may hold there without being refused at once."""

Way = tuple[str | int, ...]


def places(node: Any, path: Way = ()) -> list[Way]:
    """The way to every value within a JSON document."""
    found = [path] if path else []
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in items:
        found += places(value, (*path, key))
    return found


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """The document with one to three of its values replaced, removed, repeated or renamed."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        ways = places(document)
        if not ways:
            break
        # By depth first, so that a list of thousands is not all that is ever changed.
        depth = draw(st.sampled_from(sorted({len(way) for way in ways})))
        *to, key = draw(st.sampled_from([way for way in ways if len(way) == depth]))
        parent = document
        for step in to:
            parent = parent[step]
        change = draw(
            st.sampled_from(["replace", "replace", "replace", "remove", "more", "rename"])
        )
        if change == "replace":
            alike = VALUES_OF.get(type(parent[key]), VALUES)
            parent[key] = copy.deepcopy(draw(st.sampled_from(alike) | st.sampled_from(VALUES)))
        elif change == "remove":
            del parent[key]
        elif isinstance(parent, list):
            parent += [copy.deepcopy(parent[key]) for _ in range(1 if change == "more" else 40)]
        else:
            name = draw(st.sampled_from(TEXTS))
            value = copy.deepcopy(parent[key])
            if change == "rename":
                del parent[key]
            parent[name] = value
    return document


def rewrite_events(cell: Path, lines: list[Any]) -> None:
    """Events that ``cell.json`` vouches for."""
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    (cell / "events.jsonl").write_bytes(content)
    record = json.loads((cell / "cell.json").read_text())
    record |= {"events": len(lines), "events_sha256": hashlib.sha256(content).hexdigest()}
    (cell / "cell.json").write_text(json.dumps(record))


@st.composite
def mutations(draw: st.DrawFn, run: Path) -> dict[str, Any]:
    """Which file of a run is changed, and its new content."""
    cells = sorted(path.name for path in (run / "cells").iterdir())
    name = draw(st.sampled_from(["study.json", "cell.json", "events.jsonl", "events.jsonl"]))
    if name == "study.json":
        return {"file": name, "content": draw(mutated(json.loads((run / name).read_text())))}
    cell = draw(st.sampled_from(cells))
    text = (run / "cells" / cell / name).read_text()
    if name == "cell.json":
        return {"file": name, "cell": cell, "content": draw(mutated(json.loads(text)))}
    lines = [json.loads(line) for line in text.splitlines()]
    return {"file": name, "cell": cell, "content": draw(mutated(lines))}


def apply(run: Path, mutation: dict[str, Any]) -> None:
    if mutation["file"] == "study.json":
        (run / "study.json").write_text(json.dumps(mutation["content"]))
        return
    folder = run / "cells" / mutation["cell"]
    if mutation["file"] == "cell.json":
        (folder / "cell.json").write_text(json.dumps(mutation["content"]))
    else:
        rewrite_events(folder, mutation["content"])
