"""``doctor``'s other process: it does the checks, of which any may hang or end it.

``python -m harness.doctor.probe CHECK…`` prints a JSON line as it begins each check, one for each
finding, and one at the check's end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, TextIO

from pydantic import BaseModel

from harness.doctor import machine, software
from harness.doctor.finding import Finding, problem
from harness.doctor.packages import check_packages

Check = Callable[[], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    "python": machine.check_python,
    "packages": check_packages,
    "cores": machine.check_devices,
    "memory": machine.check_memory,
    "shared memory": machine.check_shared_memory,
    "disks": machine.check_disks,
    "ports": machine.check_sockets,
    "open files": machine.check_open_files,
    "Ray's settings": machine.check_ray_settings,
    **{
        f"import {module}": partial(software.check_import, module)
        for module in (*software.LIBRARIES, *software.SEARCHERS)
    },
    "GPUs": software.check_gpus,
    "FashionMNIST": software.check_data,
    "plug-ins": software.check_plugins,
}


class Line(BaseModel):
    """What the process says: a check begins, found something, or ended."""

    check: str
    event: Literal["begin", "finding", "end"]
    finding: Finding | None = None


def main(names: list[str], to: TextIO) -> None:
    for name in names:
        _say(to, Line(check=name, event="begin"))
        try:
            for finding in CHECKS[name]():
                _say(to, Line(check=name, event="finding", finding=finding))
        except Exception as error:  # one check that fails must not hide the others
            failed = f"could not be looked at: {type(error).__name__}: {error}"
            failed = " ".join(failed.split())
            finding = problem(name, failed, "mend this first; then ask again")
            _say(to, Line(check=name, event="finding", finding=finding))
        _say(to, Line(check=name, event="end"))


def _say(to: TextIO, line: Line) -> None:
    print(line.model_dump_json(), file=to, flush=True)


if __name__ == "__main__":
    # What libraries print must not come between the lines.
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main(sys.argv[1:], lines)
