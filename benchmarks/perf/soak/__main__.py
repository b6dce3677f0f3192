"""Kills processes of a study at random, again and again, and says what was lost.

    python -m benchmarks.perf.soak [--kills 50] [--seed 0] [--max-minutes 60] [--out runs/soak]

A study on the cluster executor, of this machine's own Ray. Each kill is a SIGKILL: of the study's
process, of a cell's, or of one of Ray's (a Train worker, a trial's actor, the pool's). The same
command is then given again wherever it has ended. At the end: every cell is there, no report that
was in a journal before a kill is missing or there twice, every trial's scores are those of an
undisturbed training, and every cell's ledger sums to what it held.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.perf.soak.checks import Found, check, journal_bytes, journalled
from benchmarks.perf.soak.victims import KINDS, kill_one

HERE = Path(__file__).parent
MEAN_PAUSE_S = 6.0
SHARE_AT_WORK = 0.8
"""Of the kills, those that wait until the study has reported something since the kill before; the
others may fall into its start, or into the replay of a cell's past."""

REPORT_BYTES = 200
"""Fewer than a report's line has, more than what a process notes as it begins."""


def command(out: Path, strategies: str, seeds: int, budget_hours: float) -> list[str]:
    return [
        sys.executable, "-m", "harness", "run",
        "--benchmark-file", str(HERE / "paced_quadratic.py"), "--benchmark", "paced_quadratic",
        "--strategies", strategies, "--seeds", str(seeds), "--budget", f"{budget_hours:g}",
        "--workers-per-trial", "1", "--out", str(out),
    ]  # fmt: skip


class _Timer:
    """Says when the next kill is due."""

    def __init__(self, out: Path, dice: random.Random) -> None:
        self._out, self._dice = out, dice
        self.wind_up()

    def wind_up(self) -> None:
        self._pause_s = self._dice.expovariate(1 / MEAN_PAUSE_S)
        self._waits = self._dice.random() < SHARE_AT_WORK
        self._bytes = journal_bytes(self._out)
        self._began: float | None = None if self._waits else time.monotonic()

    def rings(self) -> bool:
        now = time.monotonic()
        if self._began is None and journal_bytes(self._out) > self._bytes + REPORT_BYTES:
            self._began = now
        return self._began is not None and now - self._began >= self._pause_s


def soak(
    out: Path, given: list[str], kills: int, seed: int, max_s: float, kinds: tuple[str, ...] = KINDS
) -> Found:
    """Run the study to its end, with so many kills on the way."""
    dice = random.Random(seed)
    killed = Counter[str]()
    promised: dict[Path, set[str]] = {}
    ends_by = time.monotonic() + max_s
    log = (out.parent / f"{out.name}.log").open("ab")
    timer = _Timer(out, dice)
    while True:
        study = subprocess.Popen(given, stdout=log, stderr=subprocess.STDOUT)
        while study.poll() is None:
            if time.monotonic() > ends_by:
                study.kill()
                study.wait()
                raise SystemExit(f"not done after {max_s / 60:.0f} minutes: see {log.name}")
            time.sleep(0.05)
            if sum(killed.values()) < kills and timer.rings():
                # Before the kill: what a process wrote before it died is promised as well.
                for folder, lines in journalled(out).items():
                    promised.setdefault(folder, set()).update(lines)
                if (kind := kill_one(study.pid, kinds, dice)) is not None:
                    killed[kind] += 1
                    print(f"kill {sum(killed.values())}: {kind}", flush=True)
                timer.wind_up()
        if study.returncode == 0:
            return check(out, promised, killed)
        if study.returncode not in (-signal.SIGKILL, 1):
            raise SystemExit(f"the study ended with exit code {study.returncode}: see {log.name}")
        print(f"the study ended with exit code {study.returncode}: the same command again")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-minutes", type=float, default=60)
    parser.add_argument("--strategies", default="random/asha,optuna/asha,hyperopt/asha,pbt")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--budget", type=float, default=0.05, help="core-hours per cell")
    parser.add_argument("--out", type=Path, default=Path("runs/soak"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    run = command(given.out, given.strategies, given.seeds, given.budget)
    found = soak(given.out, run, given.kills, given.seed, 60 * given.max_minutes)
    print("\n".join(found.lines()))
    sys.exit(1 if found.problems else 0)


if __name__ == "__main__":
    main()
