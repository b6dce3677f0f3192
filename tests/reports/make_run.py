"""Run folders for tests: small ones by hand, and a realistic one from a toy simulation.

Everything is written through the contract's records, and is the same for the same arguments.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.contract import Mode
from harness.contract.records import (
    BenchmarkRecord,
    CellRecord,
    DevicesRecord,
    Incumbent,
    InFlight,
    Kind,
    LedgerRow,
    ParameterRecord,
    Parent,
    Report,
    Span,
    StrategyRecord,
    StudyRecord,
    TrialEnd,
)
from reports.run import Cell, Run
from reports.store import cell_folder

Event = Report | TrialEnd


def report(
    trial: int, epoch: int, score: float, held: float, decision: Any = "continue", **fields: Any
) -> Report:
    values: dict[str, Any] = {
        "tune_id": f"t{trial:05d}",
        "slot": 0,
        "config": {"lr": 0.01 * (trial + 1)},
        "started_s": max(held - 1.0, 0.0),
        "reported_s": held,
        "trial_device_seconds": {"train": float(epoch)},
        "test_score": score,
    }
    return Report(
        trial=trial,
        epoch=epoch,
        validation_score=score,
        held_device_seconds=held,
        decision=decision,
        **values | fields,
    )


def end(trial: int, epoch: int, status: Any, **fields: Any) -> TrialEnd:
    values: dict[str, Any] = {"config": {"lr": 0.01 * (trial + 1)}, "at_s": 1.0}
    return TrialEnd(trial=trial, epoch=epoch, status=status, **values | fields)


def study(
    strategies: Sequence[str] = ("random/fifo",),
    seeds: Sequence[int] = (0,),
    mode: Mode = "max",
    **fields: Any,
) -> StudyRecord:
    values: dict[str, Any] = {
        "study": {"benchmark": "toy", "seeds": list(seeds)},
        "benchmark": BenchmarkRecord(
            name="toy",
            options={"depth": 2},
            metric="validation_accuracy" if mode == "max" else "validation_loss",
            mode=mode,
            test_metric="test_accuracy" if mode == "max" else "test_loss",
            max_epochs=9,
            space={
                "lr": ParameterRecord(type="float", low=1e-5, high=1.0, log=True, mutable=True),
                "batch": ParameterRecord(type="categorical", choices=[32, 64, 128]),
            },
            dataset_source="generated",
            dataset_sha256="ab" * 32,
            data_seed=0,
        ),
        "executor": "cluster",
        "devices": DevicesRecord(
            kind="CPU", model="a CPU", slots=2, workers_per_trial=1, devices_per_worker=1.0
        ),
        "budget_device_seconds": 100.0,
        "versions": {"python": "3.11.9", "ray": "2.60.0", "torch": "2.14.1"},
        "git_commit": "0123456789abcdef0123456789abcdef01234567",
        "git_dirty": False,
        "machine": {"hostname": "laptop", "cpu_cores": 2},
        "created_at": "2026-12-01T12:00:00+00:00",
        "command": "python -m harness run --strategies all",
    }
    records = [
        StrategyRecord(
            name=name,
            summary=f"what {name} does",
            searcher=name.split("/")[0],
            scheduler=name.split("/")[-1],
            stops_early=name.endswith("asha"),
            changes_config=name == "pbt",
            source="built in",
        )
        for name in strategies
    ]
    return StudyRecord(strategies=records, seeds=list(seeds), **values | fields)


def cell(strategy: str = "random/fifo", seed: int = 0, **fields: Any) -> dict[str, Any]:
    """The fields of a cell's record that do not follow from its events."""
    return {
        "strategy": strategy,
        "seed": seed,
        "status": "completed",
        "reason": "the budget was spent",
        "max_epochs": 9,
        "slots": 2,
        "devices": 2.0,
        "budget_device_seconds": 100.0,
        "held_device_seconds": 100.0,
        "setup_seconds": 12.0,
        "wall_seconds": 62.0,
        "searcher_seconds": 0.5,
        "ledger": [
            LedgerRow(trial=0, kind="train", device_seconds=90.0),
            LedgerRow(trial=None, kind="idle", device_seconds=10.0),
        ],
        "incumbent": None,
        "trials": {},
        **fields,
    }


def write_cell(run: Path, fields: dict[str, Any], events: Sequence[Event] = ()) -> Path:
    """Write one cell's two files; returns its folder."""
    folder = cell_folder(run, fields["strategy"], fields["seed"])
    folder.mkdir(parents=True, exist_ok=True)
    content = "".join(event.model_dump_json() + "\n" for event in events).encode()
    (folder / "events.jsonl").write_bytes(content)
    record = CellRecord(
        events=len(events), events_sha256=hashlib.sha256(content).hexdigest(), **fields
    )
    (folder / "cell.json").write_text(record.model_dump_json(indent=2))
    return folder


def write_study(run: Path, record: StudyRecord) -> Path:
    run.mkdir(parents=True, exist_ok=True)
    (run / "study.json").write_text(record.model_dump_json(indent=2))
    return run


def run_of(
    cells: Mapping[tuple[str, int], Sequence[Event]],
    strategies: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    mode: Mode = "max",
    records: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Run:
    """A run in memory, from the events of its cells; a cell of the study that is not among them is
    missing. ``records`` are fields of every cell's record, ``fields`` of the study's."""
    names = strategies or list(dict.fromkeys(name for name, _ in cells))
    numbers = seeds or sorted({seed for _, seed in cells})
    found = {}
    for (name, seed), events in cells.items():
        reports = tuple(e for e in events if isinstance(e, Report))
        best = [
            e.model_dump(include=set(Incumbent.model_fields)) for e in reports if e.is_incumbent
        ]
        incumbent = Incumbent(**best[-1]) if best else None
        own = cell(name, seed, incumbent=incumbent, **dict(records or {}))
        record = CellRecord(events=len(events), events_sha256="", **own)
        found[name, seed] = Cell(
            record, reports, tuple(e for e in events if isinstance(e, TrialEnd))
        )
    every = [(name, seed) for name in names for seed in numbers]
    problems = dict.fromkeys((key for key in every if key not in found), "not run")
    return Run(Path("runs/test"), study(names, numbers, mode, **fields), found, problems)


def scored_run(mode: Mode = "max", **scores: Sequence[float | None]) -> Run:
    """A run whose cells have one report each, of these test scores by strategy and seed (``None``:
    the cell is missing); validation is 0.01 higher."""
    cells = {
        (name, seed): [report(0, 1, score + 0.01, 50.0, test_score=score, is_incumbent=True)]
        for name, values in scores.items()
        for seed, score in enumerate(values)
        if score is not None
    }
    seeds = range(max(map(len, scores.values())))
    return run_of(cells, list(scores), list(seeds), mode)


# A realistic run ------------------------------------------------------------------------------

STRATEGIES = ("random/fifo", "random/asha", "optuna/fifo", "optuna/asha", "hyperopt/asha", "pbt")
_SKILL = {"optuna/fifo": 0.5, "optuna/asha": 0.5, "hyperopt/asha": 0.45, "pbt": 0.3}
_MAX_EPOCHS, _RUNGS, _FACTOR = 9, (1, 3), 3


def write_realistic_run(
    run: Path,
    strategies: Sequence[str] = STRATEGIES,
    seeds: Sequence[int] = (0, 1, 2),
    mode: Mode = "max",
    budget: float = 400.0,
    failure_rate: float = 0.03,
) -> Path:
    """A run as the cluster executor would leave it: learning curves, rungs, failures, the cut."""
    write_study(run, study(strategies, seeds, mode, budget_device_seconds=budget))
    for strategy in strategies:
        for seed in seeds:
            simulation = _Simulation(strategy, seed, mode, budget, failure_rate)
            fields, events = simulation.run()
            write_cell(run, fields, events)
    return run


class _Simulation:
    """Two slots of one device, each training one trial at a time until the budget is held."""

    def __init__(
        self, strategy: str, seed: int, mode: Mode, budget: float, failure_rate: float
    ) -> None:
        self.strategy, self.seed, self.mode, self.budget = strategy, seed, mode, budget
        self.failure_rate = failure_rate
        self.random = np.random.default_rng([seed, sum(strategy.encode())])
        self.rungs = _RUNGS if strategy.endswith("asha") else ()
        self.events: list[Event] = []
        self.ledger: defaultdict[tuple[int | None, Kind], float] = defaultdict(float)
        self.at_rung: defaultdict[int, list[float]] = defaultdict(list)
        self.incumbent: Report | None = None
        self.failed: set[int] = set()
        self.in_flight: list[InFlight] = []
        self.trials = 0

    def run(self) -> tuple[dict[str, Any], list[Event]]:
        end_s = self.budget / 2
        slots = [(0.0, slot) for slot in range(2)]
        running: dict[int, dict[str, Any]] = {}
        while slots:
            now, slot = heapq.heappop(slots)
            trial = running.get(slot) or self._new_trial(now)
            if self.random.random() < 0.3:
                idle = min(0.05 * self.random.random(), end_s - now)
                self.ledger[None, "idle"] += idle
                now += idle
            spans: dict[Kind, float] = {
                "restore": 0.03 if trial["epoch"] == 0 else 0.0,
                "train": 1.7 * trial["cost"] * self.random.uniform(0.95, 1.1),
                "evaluate": 0.12,
                "checkpoint": 0.02,
            }
            done = now + sum(spans.values())
            if done > end_s:
                self._cut(trial, now, end_s)
                continue
            for kind, seconds in spans.items():
                self.ledger[trial["number"], kind] += seconds
            running[slot] = trial
            if (
                self.random.random() < self.failure_rate / 3 and not self._retry(trial, done)
            ) or self._report(trial, slot, now, done, spans) not in ("continue", "exploit"):
                del running[slot]
            heapq.heappush(slots, (done, slot))
        return self._fields(), self.events

    def _new_trial(self, now: float) -> dict[str, Any]:
        number, self.trials = self.trials, self.trials + 1
        skill = _SKILL.get(self.strategy, 0.0) * min(now / self.budget * 4, 1.0)
        log_lr = (1 - skill) * self.random.uniform(-5, 0) + skill * -2.8
        quality = 0.888 - 0.045 * abs(log_lr + 2.8) ** 1.6
        return {
            "number": number,
            "epoch": 0,
            "attempt": 0,
            "quality": max(quality + self.random.normal(0, 0.002), 0.1),
            "speed": self.random.uniform(0.7, 1.6),
            "cost": self.random.uniform(0.6, 1.4),
            "diverges": log_lr > -0.35,
            "parent": None,
            "config": {"lr": 10.0**log_lr, "batch": int(self.random.choice([32, 64, 128]))},
        }

    def _retry(self, trial: dict[str, Any], now: float) -> bool:
        again = trial["attempt"] == 0
        reason = "RuntimeError: CUDA error <script>alert(1)</script> & more"
        self._end(trial, "failed", now, reason=reason, retried=again)
        trial["attempt"] += 1
        if not again:
            self.failed.add(trial["number"])
            self.incumbent = self._best()
        return again

    def _best(self) -> Report | None:
        """Of the trials that have not failed."""
        sign = 1 if self.mode == "max" else -1
        sound = [e for e in self.events if isinstance(e, Report) and e.trial not in self.failed]
        finite = [report for report in sound if math.isfinite(report.validation_score)]
        return max(finite, key=lambda report: sign * report.validation_score, default=None)

    def _report(
        self, trial: dict[str, Any], slot: int, start: float, now: float, spans: dict[Kind, float]
    ) -> str:
        trial["epoch"] += 1
        score, loss = self._scores(trial)
        decision = self._decide(trial, score)
        sign = 1 if self.mode == "max" else -1
        better = math.isfinite(score) and (
            self.incumbent is None or sign * score > sign * self.incumbent.validation_score
        )
        made = Report(
            trial=trial["number"],
            tune_id=f"{self.seed:03d}_{trial['number']:05d}",
            attempt=trial["attempt"],
            slot=slot,
            config=trial["config"],
            epoch=trial["epoch"],
            validation_score=score,
            validation_loss=loss,
            train_loss=loss,
            test_score=score - sign * 0.004 + self.random.normal(0, 0.001),
            started_s=start,
            reported_s=now,
            spans=[Span(kind=kind, seconds=seconds) for kind, seconds in spans.items() if seconds],
            trial_device_seconds={
                kind: s for (owner, kind), s in self.ledger.items() if owner == trial["number"]
            },
            held_device_seconds=2 * now,
            decision=decision,
            rung=trial["epoch"] if trial["epoch"] in self.rungs else None,
            parent=trial["parent"],
            is_incumbent=better,
        )
        trial["parent"] = None
        self.events.append(made)
        if better:
            self.incumbent = made
        statuses = {"stop": "stopped", "finish": "finished", "diverged": "diverged"}
        if decision in statuses:
            reason = f"a NaN score at epoch {trial['epoch']}" if decision == "diverged" else None
            self._end(trial, statuses[decision], now, reason=reason)
        if decision == "exploit" and self.incumbent is not None:
            best = self.incumbent
            trial["parent"] = Parent(trial=best.trial, epoch=best.epoch)
            trial["quality"] = max(trial["quality"], 0.885)
            trial["config"] = {**best.config, "lr": float(best.config["lr"] or 1.0) * 1.2}
        return decision

    def _scores(self, trial: dict[str, Any]) -> tuple[float, float]:
        if trial["diverges"] and trial["epoch"] >= 2:
            return (math.nan, math.inf) if trial["number"] % 2 else (-math.inf, math.nan)
        part = 1 - math.exp(-trial["speed"] * trial["epoch"])
        accuracy = 0.1 + (trial["quality"] - 0.1) * part + self.random.normal(0, 0.002)
        return (accuracy if self.mode == "max" else 1 - accuracy), 1 - accuracy

    def _decide(self, trial: dict[str, Any], score: float) -> Any:
        if not math.isfinite(score):
            return "diverged"
        if trial["epoch"] >= _MAX_EPOCHS:
            return "finish"
        if trial["epoch"] in self.rungs:
            sign = 1 if self.mode == "max" else -1
            arrived = self.at_rung[trial["epoch"]]
            arrived.append(sign * score)
            if sign * score < np.percentile(arrived, 100 * (1 - 1 / _FACTOR)):
                return "stop"
        if self.strategy == "pbt" and trial["epoch"] == 4 and trial["quality"] < 0.86:
            return "exploit"
        return "continue"

    def _cut(self, trial: dict[str, Any], now: float, end_s: float) -> None:
        left = end_s - now
        self.ledger[trial["number"], "train"] += left
        if left > 0:
            flight = InFlight(trial=trial["number"], epoch=trial["epoch"] + 1, device_seconds=left)
            self.in_flight.append(flight)
        self._end(trial, "cut", end_s)

    def _end(self, trial: dict[str, Any], status: Any, now: float, **fields: Any) -> None:
        self.events.append(
            TrialEnd(
                trial=trial["number"],
                attempt=trial["attempt"],
                config=trial["config"],
                epoch=trial["epoch"],
                status=status,
                at_s=now,
                **fields,
            )
        )

    def _fields(self) -> dict[str, Any]:
        counts: dict[str, int] = defaultdict(int)
        for event in self.events:
            if isinstance(event, TrialEnd) and not event.retried:
                counts[event.status] += 1
        best = self.incumbent
        return cell(
            self.strategy,
            self.seed,
            rungs=list(self.rungs),
            settings={"grace_period": 1, "reduction_factor": 3} if self.rungs else {},
            warnings=["the population of 4 is small"] if self.strategy == "pbt" else [],
            budget_device_seconds=self.budget,
            held_device_seconds=self.budget,
            ledger=[
                LedgerRow(trial=trial, kind=kind, device_seconds=seconds)
                for (trial, kind), seconds in self.ledger.items()
            ],
            in_flight=self.in_flight,
            trials=dict(counts),
            incumbent=None
            if best is None
            else Incumbent(
                **best.model_dump(
                    include={
                        "trial", "epoch", "config", "validation_score", "test_score",
                        "reported_s", "held_device_seconds",
                    }
                )
            ),
        )  # fmt: skip
