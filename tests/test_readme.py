"""What the README shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from harness.contract import Strategy
from strategies.registry import STRATEGIES
from strategies.testing import check_strategy

README = Path(__file__).parent.parent / "README.md"


def test_the_strategy_file(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    assert len(code.splitlines()) < 15
    file = tmp_path / "mine.py"
    file.write_text(code)
    (name,) = STRATEGIES.add_file(file)
    try:
        strategy = STRATEGIES.get(name)
        assert isinstance(strategy, Strategy)
        check_strategy(strategy)
    finally:
        STRATEGIES._from_files.clear()


def test_the_first_two_commands() -> None:
    (block, *_) = re.findall(r"```\n(.*?)```", README.read_text(), flags=re.S)
    assert [line.split("#")[0].strip() for line in block.splitlines()] == ["make run", "make test"]
