"""Are the packages that this project declares here, in the versions that it declares?"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement

from harness.doctor.finding import Finding, Level, note, ok

PROJECT: Final = "tune-bench-harness"
PYPROJECT: Final = Path(__file__).parents[2] / "pyproject.toml"
"""Of a checkout: newer than what was installed from it."""

FOR_DEVELOPERS: Final = frozenset({"dev"})

ONLY_FOR_STRATEGIES: Final = frozenset({"optuna", "hyperopt"})
"""Without them `--strategies all` leaves some out, and runs the rest."""


def check_packages() -> Iterator[Finding]:
    """One finding for each declared package that is amiss, one for all the others together."""
    needed, extras = declared()
    fine: list[str] = []
    for requirement in needed:
        level: Level = "note" if requirement.name in ONLY_FOR_STRATEGIES else "problem"
        amiss = list(_amiss(requirement, level))
        yield from amiss
        if not amiss:
            fine.append(f"{requirement.name} {distribution(requirement.name).version}")
    if fine:
        yield ok("packages", ", ".join(fine))
    for extra, requirements in sorted(extras.items()):
        lacking = [r.name for r in requirements if any(_amiss(r, "note"))]
        if lacking:
            command = f"pip install {shlex.quote(f'{PROJECT}[{extra}]')}"
            yield note(f"extra {extra}", f"not installed: {', '.join(lacking)}", command)
        else:
            yield ok(f"extra {extra}", ", ".join(r.name for r in requirements))


def declared() -> tuple[list[Requirement], dict[str, list[Requirement]]]:
    """What the project needs on this machine, and what each of its extras for users adds."""
    if PYPROJECT.is_file():
        project = tomllib.loads(PYPROJECT.read_text())["project"]
        texts: dict[str, list[str]] = {"": project["dependencies"]}
        texts |= project.get("optional-dependencies", {})
        groups = {name: [Requirement(text) for text in lines] for name, lines in texts.items()}
    else:
        every = [Requirement(text) for text in requires(PROJECT) or ()]
        names = distribution(PROJECT).metadata.get_all("Provides-Extra") or []
        needed = [r for r in every if _applies(r, "")]
        groups = {"": needed}
        for name in names:
            groups[name] = [r for r in every if _applies(r, name) and r not in needed]
    here = {
        extra: [requirement for requirement in group if _applies(requirement, extra)]
        for extra, group in groups.items()
        if extra not in FOR_DEVELOPERS
    }
    return here.pop(""), here


def _applies(requirement: Requirement, extra: str) -> bool:
    """Whether its marker (platform, Python, extra) asks for it here."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _amiss(requirement: Requirement, level: Level) -> Iterator[Finding]:
    """What is wrong with one package: not there, another version, or without its own extras."""
    name, wanted = requirement.name, f"{requirement}".split(";")[0].strip()
    command = f"pip install {shlex.quote(wanted)}"
    try:
        found = distribution(name).version
    except PackageNotFoundError:
        yield Finding(level=level, topic=name, found="not installed", to_do=command)
        return
    if not requirement.specifier.contains(found, prereleases=True):
        said = f"{found} is installed, {requirement.specifier} is needed"
        yield Finding(level=level, topic=name, found=said, to_do=command)
        return
    extras = sorted(requirement.extras)
    if lacking := sorted({package for extra in extras for package in _lacking(name, extra)}):
        said = f"installed without what {name}[{','.join(extras)}] adds: {', '.join(lacking)}"
        yield Finding(level=level, topic=name, found=said, to_do=command)


def _lacking(package: str, extra: str) -> Iterator[str]:
    """Packages of an installed package's extra that are not installed."""
    for text in requires(package) or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if _applies(requirement, extra) and not _applies(requirement, ""):
            try:
                distribution(requirement.name)
            except PackageNotFoundError:
                yield requirement.name
