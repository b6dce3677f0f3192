"""What is read from a file is data: nothing in one is ever constructed or executed."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("harness", "strategies", "benchmarks", "reports")

EXECUTES = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "cloudpickle.load", "cloudpickle.loads",
    "joblib.load", "pd.read_pickle", "yaml.load", "yaml.unsafe_load", "yaml.full_load",
}  # fmt: skip


def test_checkpoints_load_with_weights_only() -> None:
    loads, unsafe = 0, []
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call):
                continue
            name = ast.unparse(call.func)
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            if name == "torch.load":
                loads += 1
            if name in EXECUTES or (name == "torch.load" and given.get("weights_only") != "True"):
                unsafe.append(f"{path.relative_to(ROOT)}:{call.lineno}: {name}")
    assert loads >= 2
    assert unsafe == []
