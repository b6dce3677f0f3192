"""What has to be imported to be known: whether libraries load, which GPUs, data and plug-ins.

Each check may take seconds, hang or end its process where something is broken; see ``probe``.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from harness.contract import UsageError
from harness.doctor.finding import Finding, note, ok, problem

MIRROR_TIMEOUT_S: Final = 3.0

LIBRARIES: Final = ("torch", "torchvision", "ray.tune", "ray.train", "pyarrow", "seaborn")
"""What a run cannot do without; each loads compiled code that may not fit the machine."""

SEARCHERS: Final = ("optuna", "hyperopt")


def check_import(module: str) -> Iterator[Finding]:
    """Says nothing where the package is not there at all: that is told from what is declared."""
    package = module.split(".")[0]
    if importlib.util.find_spec(package) is None:
        return
    try:
        importlib.import_module(module)
    except Exception as error:  # a broken installation may raise anything
        first_line = (str(error).strip().splitlines() or [""])[0]
        found = f"cannot be imported: {type(error).__name__}: {first_line}"
        to_do = f"pip install --force-reinstall {package}"
        make = note if module in SEARCHERS else problem
        yield make(module, found, to_do)


def check_gpus() -> Iterator[Finding]:
    try:
        import torch
    except Exception:
        return  # told by check_import, or from what is declared
    driver = shutil.which("nvidia-smi")
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        yield ok(
            "GPUs", f"{len(names)}: {', '.join(sorted(set(names)))} (CUDA {torch.version.cuda})"
        )
    elif driver is not None:
        yield note(
            "GPUs",
            f"torch {torch.__version__} sees none, though {driver} is there",
            "look at CUDA_VISIBLE_DEVICES, nvidia-smi, and whether torch was built for this CUDA",
        )
    else:
        yield ok("GPUs", "none: runs use CPU cores")


def check_data() -> Iterator[Finding]:
    """FashionMNIST, which ``run`` takes where it is told nothing else."""
    topic = "FashionMNIST"
    try:
        from benchmarks.fashion_mnist.data import WAYS, find_on_disk
    except ImportError as error:
        yield note(topic, f"not looked for: {error}", "see above")
        return
    found = find_on_disk()
    if not isinstance(found, list):
        yield ok(topic, f"{found.source}: {found.path}")
        return
    why_not = "; ".join(found)
    try:
        host, port = _mirror()
        with socket.create_connection((host, port), timeout=MIRROR_TIMEOUT_S):
            pass
    except (OSError, ImportError, UsageError) as error:
        reason = f"{why_not}; and torchvision's mirror is not reached ({error})"
        yield problem(topic, reason, WAYS)
    else:
        yield note(topic, f"{why_not}; torchvision would download it from {host}")


def _mirror() -> tuple[str, int]:
    """Host and port of the first place that torchvision downloads from."""
    from torchvision.datasets import FashionMNIST

    for mirror in map(urlsplit, FashionMNIST.mirrors):
        if mirror.hostname:
            return mirror.hostname, mirror.port or (443 if mirror.scheme == "https" else 80)
    raise UsageError("torchvision names no mirror")


def check_plugins() -> Iterator[Finding]:
    """Strategies and benchmarks, those of other packages too."""
    from benchmarks.registry import BENCHMARKS
    from strategies.registry import STRATEGIES

    for registry in (STRATEGIES, BENCHMARKS):
        entries = registry.entries().values()
        usable = sum(entry.value is not None for entry in entries)
        topic = f"{registry.kind} plug-ins"
        if usable == 0:
            yield problem(topic, "none can be used", "pip install --force-reinstall this project")
        for entry in entries:
            if entry.value is None:
                found = f"{entry.name} ({entry.source}) cannot be used: {entry.problem}"
                yield note(topic, found, "mend or uninstall it, or go without")
        if usable:
            yield ok(topic, f"{usable} can be used")
