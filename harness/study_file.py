"""Reading a study file: YAML that is plain data, of a bounded size, each name once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from harness.contract import UsageError

MAX_BYTES: Final = 256 * 1024
MAX_VALUES: Final = 100_000
"""Of a whole file with every alias (``*name``) written out, so that a few lines of aliases of
aliases cannot become billions of values."""
MAX_NUMBER_CHARACTERS: Final = 100

PLAIN_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("null", "bool", "int", "float", "str", "seq", "map", "merge", "timestamp")
)


def read_study_file(path: Path) -> dict[str, Any]:
    """A file's fields by name, with underscores; a field without a value is one that is not given.

    Raises:
        UsageError: the file cannot be read, is too large, is no YAML mapping, gives a name twice,
            or asks for an object to be made (``!!python/object``): nothing of it was made.
    """
    text = _read_text(path)
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            return {}
        _check(root, path)
        content = loader.construct_document(root)
    except yaml.YAMLError as error:
        raise UsageError(f"--config {path} is not valid YAML: {_one_line(error)}") from None
    except RecursionError:
        raise UsageError(f"--config {path} is nested too deeply for a study file") from None
    except ValueError as error:  # a date or a number that cannot be one, e.g. 2026-13-45
        raise UsageError(f"--config {path} holds a value that cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(
            f"--config {path} must map fields to values, e.g. 'seeds: 3'; "
            f"it holds a {type(content).__name__}"
        )
    return {_field(key): value for key, value in content.items() if value is not None}


def _field(key: object) -> str:
    return str(key).replace("-", "_")


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read --config {path}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(
            f"--config {path} is larger than {MAX_BYTES // 1024} KiB, the most that is read: "
            "is it a study file?"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"--config {path} is not UTF-8 text: {error.reason}") from None


def _check(root: Node, path: Path) -> None:
    """Refuse what must not be made into values; raises UsageError."""
    sizes: dict[int, int] = {}
    if _size(root, path, sizes, ()) > MAX_VALUES:
        raise UsageError(
            f"--config {path} holds more than {MAX_VALUES:,} values with its aliases (*name) "
            "written out: write the values themselves, or fewer"
        )
    if isinstance(root, MappingNode):
        _refuse_repeated(root, path)


def _size(node: Node, path: Path, sizes: dict[int, int], above: tuple[int, ...]) -> int:
    """How many values a node stands for; every node below it is checked on the way, once."""
    if id(node) in above:
        raise UsageError(f"--config {path} {_at(node)}: a value that contains itself")
    if id(node) not in sizes:
        _check_tag(node, path)
        below: list[Node] = []
        if isinstance(node, MappingNode):
            below = [part for pair in node.value for part in pair]
        elif isinstance(node, SequenceNode):
            below = node.value
        inside = (*above, id(node))
        sizes[id(node)] = 1 + sum(_size(part, path, sizes, inside) for part in below)
    return sizes[id(node)]


def _check_tag(node: Node, path: Path) -> None:
    if node.tag not in PLAIN_TAGS:
        raise UsageError(
            f"--config {path} {_at(node)}: {node.tag.replace('tag:yaml.org,2002:', '!!')} is "
            "refused: a study file is plain data (numbers, texts, lists, mappings)"
        )
    if not node.tag.endswith((":int", ":float")) or not isinstance(node, ScalarNode):
        return
    if len(node.value) > MAX_NUMBER_CHARACTERS:
        raise UsageError(
            f"--config {path} {_at(node)}: a number of {len(node.value)} characters, of which at "
            f"most {MAX_NUMBER_CHARACTERS} are read"
        )
    if ":" in node.value:
        raise UsageError(
            f"--config {path} {_at(node)}: YAML takes {node.value} for a number to the base 60: "
            "write a decimal number, or a text in quotes"
        )


def _refuse_repeated(root: MappingNode, path: Path) -> None:
    """YAML's own rule, which PyYAML does not keep: the last of several would win silently."""
    for mapping in _mappings(root, set()):
        seen: dict[str, Node] = {}
        for key, _ in mapping.value:
            if not isinstance(key, ScalarNode):
                continue
            name = _field(key.value) if mapping is root else key.value
            if name in seen:
                raise UsageError(
                    f"--config {path} gives {key.value!r} twice, {_at(seen[name])} and "
                    f"{_at(key)}: leave one of them out"
                )
            seen[name] = key


def _mappings(node: Node, seen: set[int]) -> list[MappingNode]:
    if id(node) in seen or isinstance(node, ScalarNode):
        return []
    seen.add(id(node))
    if isinstance(node, MappingNode):
        below = [value for _, value in node.value]
        return [node] + [found for part in below for found in _mappings(part, seen)]
    return [found for part in node.value for found in _mappings(part, seen)]


def _at(node: Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _one_line(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    said = error.problem or error.context or "it cannot be parsed"
    return said if mark is None else f"{said}, line {mark.line + 1}, column {mark.column + 1}"
