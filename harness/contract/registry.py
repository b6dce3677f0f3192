"""Finding strategies and benchmarks: built-in modules, installed entry points, single files.

A broken or not-installed one stays in the list with its reason; it is refused only when asked for.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from harness.contract.errors import UsageError, unknown_name

T = TypeVar("T")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A registered thing: its name, where it comes from, and itself or what is wrong with it."""

    name: str
    source: str
    value: T | None
    problem: str | None = None


class Registry(Generic[T]):
    """Everything of one kind that can be named on the command line.

    Args:
        kind: the word for messages, e.g. ``"strategy"``.
        group: the entry-point group, e.g. ``"harness.strategies"``.
        builtin: modules of this project; each holds one thing or several.
        is_one: tells whether an object is such a thing.
        name_of: its name.
        requires_of: the modules that it needs installed.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        builtin: tuple[str, ...],
        is_one: Callable[[object], bool],
        name_of: Callable[[T], str],
        requires_of: Callable[[T], tuple[str, ...]],
    ) -> None:
        self.kind = kind
        self._group = group
        self._builtin = builtin
        self._is_one = is_one
        self._name_of = name_of
        self._requires_of = requires_of
        self._from_files: list[Entry[T]] = []

    def entries(self) -> dict[str, Entry[T]]:
        """Every entry by name, built-in first, then entry points, then files."""
        found: dict[str, Entry[T]] = {}
        for entry in self._all():
            name = entry.name
            if name in found:
                problem = f"the name {name!r} is taken already, by {found[name].source}"
                entry = Entry(f"{name} ({entry.source})", entry.source, None, problem)
            found[entry.name] = entry
        return found

    def names(self) -> list[str]:
        """The names of the usable entries, in order."""
        return [entry.name for entry in self.entries().values() if entry.value is not None]

    def get(self, name: str) -> T:
        """The thing called ``name``; :class:`UsageError` where unknown, broken or not installed."""
        entries = self.entries()
        if name not in entries:
            raise unknown_name(self.kind, name, self.names())
        entry = entries[name]
        if entry.value is None:
            raise UsageError(
                f"{self.kind} {name!r} ({entry.source}) cannot be used: {entry.problem}"
            )
        return entry.value

    def source(self, name: str) -> str:
        return self.entries()[name].source

    def add_file(self, path: Path) -> list[str]:
        """Register what a Python file defines; returns the names. A file that is registered
        already is not read again.

        Raises :class:`UsageError` where the file is missing, broken, or defines nothing of this
        kind, or a name that is taken.
        """
        if not path.is_file():
            raise UsageError(f"no {self.kind} file at {path}")
        source = f"file {path}"
        if before := [entry.name for entry in self._from_files if entry.source == source]:
            return before
        try:
            module = _import_file(path)
        except Exception as error:
            raise UsageError(
                f"the {self.kind} file {path} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        things = self._things_in(module)
        if not things:
            raise UsageError(f"the file {path} defines no {self.kind}")
        taken = self.entries()
        names = [self._name_of(thing) for thing in things]
        for name in names:
            if name in taken:
                raise UsageError(
                    f"the file {path} defines the {self.kind} {name!r}, "
                    f"a name taken already by {taken[name].source}: choose another"
                )
        self._from_files += [self._checked(thing, source) for thing in things]
        return names

    def _all(self) -> Iterator[Entry[T]]:
        for module_name in self._builtin:
            for thing in self._things_in(importlib.import_module(module_name)):
                yield self._checked(thing, "built in")
        for point in sorted(entry_points(group=self._group), key=lambda point: point.name):
            yield self._from_entry_point(point)
        yield from self._from_files

    def _from_entry_point(self, point: EntryPoint) -> Entry[T]:
        package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            thing = point.load()
        except Exception as error:
            return Entry(point.name, package, None, f"{type(error).__name__}: {error}")
        if not self._is_one(thing):
            problem = f"entry point {point.value!r} is no {self.kind} but {type(thing).__name__}"
            return Entry(point.name, package, None, problem)
        return self._checked(thing, package)

    def _things_in(self, module: ModuleType) -> list[T]:
        return [thing for thing in vars(module).values() if self._is_one(thing)]

    def _checked(self, thing: T, source: str) -> Entry[T]:
        name = self._name_of(thing)
        missing = [need for need in self._requires_of(thing) if not _is_installed(need)]
        if missing:
            problem = f"needs {', '.join(missing)}: pip install {' '.join(missing)}"
            return Entry(name, source, None, problem)
        return Entry(name, source, thing)


def _is_installed(module_name: str) -> bool:
    try:
        return importlib.util.find_spec(module_name) is not None
    except (ImportError, ValueError):
        return False


def module_of_file(path: Path) -> ModuleType:
    """The module that :meth:`Registry.add_file` made of a file."""
    return sys.modules[_module_name(path)]


def _module_name(path: Path) -> str:
    """Its own for each file, also where two are called alike."""
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    return f"harness_file_{path.stem}_{digest}"


def _import_file(path: Path) -> ModuleType:
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
