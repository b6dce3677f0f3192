"""The registry: light to import, helpful about names, open to other packages and files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.contract import UsageError
from harness.contract.registry import Registry
from strategies.registry import STRATEGIES, resolve
from strategies.testing import check_strategy

BUILT_IN = ["random/fifo", "random/asha", "optuna/fifo", "optuna/asha", "hyperopt/asha", "pbt"]
ROOT = Path(__file__).parents[2]


def test_the_built_in_strategies() -> None:
    built_in = [e.name for e in STRATEGIES.entries().values() if e.source == "built in"]
    assert built_in == BUILT_IN


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_strategy_keeps_the_contract(name: str) -> None:
    check_strategy(STRATEGIES.get(name))


def test_importing_the_registry_is_light() -> None:
    code = (
        "import sys; from strategies.registry import STRATEGIES; STRATEGIES.entries(); "
        "print([m for m in ('ray', 'torch', 'optuna', 'hyperopt') if m in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"


def names_of(given: str | list[str]) -> list[str]:
    return [strategy.name for strategy in resolve(given)[0]]


def test_names_are_resolved_in_order_and_once() -> None:
    assert names_of("pbt, random/fifo") == ["pbt", "random/fifo"]
    assert names_of(["pbt", "random/fifo,pbt"]) == ["pbt", "random/fifo"]
    assert names_of("all") == [*BUILT_IN, *names_of("all")[6:]]
    assert names_of("pbt,all")[:2] == ["pbt", "random/fifo"]


def test_an_unknown_name_suggests_the_near_one() -> None:
    with pytest.raises(UsageError, match=r"unknown strategy 'optuna/ahsa'. Did you mean 'optuna/a"):
        resolve("optuna/ahsa")


@pytest.mark.parametrize("given", ["", " , ", []])
def test_no_name_is_refused(given: str | list[str]) -> None:
    with pytest.raises(UsageError, match="no strategy given"):
        resolve(given)


# Strategies of other packages ------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plug-in package, built and installed by pip into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(Path(__file__).with_name("plugin_package"), folder / "source")
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--target", target, source], check=True, cwd=folder
    )
    return target


@pytest.fixture
def with_plugin(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(installed))
    yield installed
    for name in [name for name in sys.modules if name.startswith("plugin_example")]:
        del sys.modules[name]


def test_an_installed_package_adds_a_strategy(with_plugin: Path) -> None:
    entry = STRATEGIES.entries()["plugin/median"]
    assert entry.source == "tune-bench-plugin-example 1.2.3"
    assert entry.value is not None
    check_strategy(entry.value)
    assert "plugin/median" in names_of("all")


def test_what_is_wrong_with_a_plug_in_is_said(with_plugin: Path) -> None:
    entries = STRATEGIES.entries()
    problems = {name: entry.problem or "" for name, entry in entries.items()}
    assert "RuntimeError: broken on purpose" in problems["plugin/broken"]
    assert "is no strategy but function" in problems["plugin/no-strategy"]
    assert "needs no_such_module: pip install" in problems["plugin/not-installed"]
    (taken,) = (name for name in problems if name.startswith("random/fifo ("))
    assert "taken already, by built in" in problems[taken]
    assert entries["random/fifo"].value is not None

    chosen, left_out = resolve("all")
    assert {"plugin/broken", "plugin/no-strategy", "plugin/not-installed"} <= set(left_out)
    assert "broken on purpose" in left_out["plugin/broken"]
    assert not {strategy.name for strategy in chosen} & set(left_out)
    with pytest.raises(UsageError, match="cannot be used: RuntimeError: broken on purpose"):
        resolve("plugin/broken")


def test_list_shows_an_installed_plug_in(installed: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "harness", "list"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(installed), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "plugin/median" in printed and "tune-bench-plugin-example 1.2.3" in printed
    assert "broken on purpose" in printed and "no_such_module" in printed


# Strategy files --------------------------------------------------------------------------------

FILE = """
from harness.contract import Plan, Problem, Strategy
from strategies.random_fifo import build

STRATEGY = Strategy(
    name="mine", summary="My own", searcher="random", scheduler="fifo", build=build
)
"""


@pytest.fixture
def registry() -> Registry[object]:
    """A registry of its own, so that a file's strategy does not stay in the project's."""
    template = STRATEGIES
    return Registry(
        kind=template.kind,
        group="harness.strategies",
        builtin=("strategies.random_fifo",),
        is_one=template._is_one,
        name_of=template._name_of,
        requires_of=template._requires_of,
    )


def test_a_single_file_adds_a_strategy(registry: Registry[object], tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    assert registry.add_file(path) == ["mine"]
    assert registry.source("mine") == f"file {path}"
    check_strategy(registry.get("mine"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1", "defines no strategy"),
        ("import no_such_module", "cannot be imported: ModuleNotFoundError"),
        (FILE.replace('"mine"', '"random/fifo"'), "'random/fifo', a name taken already"),
        (None, "no strategy file at"),
    ],
)
def test_a_bad_file_is_refused(
    registry: Registry[object], tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "bad.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=message):
        registry.add_file(path)
