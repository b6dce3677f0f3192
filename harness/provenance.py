"""Where a study's numbers come from: versions, code, machine, and the command to run it again."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.contract.records import ConfigValue
from harness.study import StudyConfig

PACKAGES = (
    "tune-bench-harness", "ray", "torch", "torchvision", "optuna", "hyperopt", "numpy", "pandas",
    "scipy", "scikit-learn",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of Python and of every package that can change a result."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def git_state() -> tuple[str | None, bool | None]:
    """The commit of this project's checkout and whether it has uncommitted changes."""
    folder = Path(__file__).parent
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None or _git(folder, "ls-files", "--error-unmatch", __file__) is None:
        return None, None
    return commit, bool(_git(folder, "status", "--porcelain"))


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine() -> dict[str, ConfigValue]:
    """The machine that runs the study's driver."""
    return {
        "hostname": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": cpu_model(),
        "cpu_cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_bytes": _memory_bytes(),
    }


def cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def rerun_command(study: StudyConfig) -> str:
    """The command that runs this study again, with everything decided written out."""
    words = ["python", "-m", "harness", "run"]
    for name, value in study.model_dump(mode="json").items():
        flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
        if value is None:
            continue
        if name in ("strategies", "seeds", "targets"):
            text = ",".join(str(item) for item in value)
            words += [flag, f"{text}," if name == "seeds" and len(value) == 1 else text]
        elif isinstance(value, dict):
            words += [part for key, item in value.items() for part in (flag, f"{key}={item}")]
        elif isinstance(value, list):
            words += [part for item in value for part in (flag, str(item))]
        else:
            words += [flag, str(value)]
    return shlex.join(words)


FLAGS = {
    "benchmark_options": "--benchmark-option",
    "strategy_files": "--strategy-file",
    "benchmark_files": "--benchmark-file",
    "decisions": "--decision",
}
"""Fields whose flag, given once per value, is named in the singular."""
