"""Does every check in another process, within a time limit, whatever becomes of that process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.clock import Clock
from harness.doctor.finding import Diagnosis, Finding, problem
from harness.doctor.probe import CHECKS, Line

AFTER_KILL_S: Final = 5.0
ROOT: Final = Path(__file__).parents[2]


def diagnose(limit_seconds: float, clock: Clock) -> Diagnosis:
    """Every finding. Where a check hangs or ends its process, that is one, and the others go on."""
    ends = clock.now() + limit_seconds
    findings: list[Finding] = []
    remaining = list(CHECKS)
    while remaining:
        left = ends - clock.now()
        if left <= 0:
            names = ", ".join(remaining)
            to_do = "give more time: --limit SECONDS"
            findings.append(problem("time", f"not looked at in time: {names}", to_do))
            break
        lines, outcome = _probe(remaining, left)
        if not lines:
            to_do = "pip install --force-reinstall this project; its own modules do not load"
            findings.append(problem("checks", outcome, to_do))
            break
        findings += [line.finding for line in lines if line.finding is not None]
        ended = {line.check for line in lines if line.event == "end"}
        remaining = [name for name in remaining if name not in ended]
        if remaining:
            to_do = "mend this first: it would stop a run too"
            findings.append(problem(remaining.pop(0), outcome, to_do))
    return Diagnosis(findings=findings)


def _probe(names: list[str], limit_seconds: float) -> tuple[list[Line], str]:
    """What the process said, and in words how it ended."""
    # The project's folder first: it need not be installed to be looked after.
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.doctor.probe", *names],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=limit_seconds)
        outcome = _how_it_ended(process.returncode, errors)
    except subprocess.TimeoutExpired:
        output = _kill(process)
        outcome = f"did not end within {limit_seconds:.0f} s"
    except BaseException:
        _kill(process)
        raise
    return _lines(output), outcome


def _kill(process: subprocess.Popen[bytes]) -> bytes:
    """End it and what it started; what it had said."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=AFTER_KILL_S)[0]
    except subprocess.TimeoutExpired as error:
        return error.stdout or b""


def _how_it_ended(code: int, errors: bytes) -> str:
    last = (errors.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
    if code < 0:
        return f"its process was ended by signal {-code}: {last}"
    return f"its process ended with exit code {code}: {last}"


def _lines(output: bytes) -> list[Line]:
    lines = []
    for text in output.splitlines():
        with contextlib.suppress(ValidationError):  # the last one may be cut
            lines.append(Line.model_validate_json(text))
    return lines
