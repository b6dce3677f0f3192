"""The table of cases: none is missing, and every test that it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TABLE = Path(__file__).with_name("README.md")
ROOT = Path(__file__).parents[2]


def _tests_by_case() -> dict[int, list[str]]:
    rows = re.findall(r"^\| (\d+) \|.*\|([^|]*)\|$", TABLE.read_text(), re.MULTILINE)
    return {int(number): re.findall(r"`([^`]+)`", tests) for number, tests in rows}


def test_all_35_cases_have_a_test() -> None:
    cases = _tests_by_case()
    assert list(cases) == list(range(1, 36))
    assert all(cases.values())


def test_every_test_of_the_table_exists() -> None:
    functions: dict[Path, set[str]] = {}
    for name in {test for tests in _tests_by_case().values() for test in tests}:
        file, function = name.split("::")
        path = ROOT / file
        if path not in functions:
            nodes = ast.parse(path.read_text()).body
            functions[path] = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        assert function in functions[path], name


def test_every_case_of_these_files_is_in_its_row() -> None:
    """A test that calls itself one of a case's is not forgotten."""
    cases = _tests_by_case()
    files = [*Path(__file__).parent.glob("test_*.py"), ROOT / "tests/harness/test_cluster_cases.py"]
    for path in files:
        for function in re.findall(r"^def (test_cases?_\d\w*)", path.read_text(), re.MULTILINE):
            numbers = re.match(r"test_cases?((?:_\d\d)+)_", function)
            assert numbers is not None, function
            for number in numbers.group(1).strip("_").split("_"):
                assert f"{path.relative_to(ROOT)}::{function}" in cases[int(number)], function
