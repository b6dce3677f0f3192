"""One cell's side of Tune, whatever executor runs its trials: searcher, scheduler, recorder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ray.tune.schedulers import TrialScheduler
from ray.tune.search.basic_variant import BasicVariantGenerator

from harness.cell import CellSpec
from harness.contract import Benchmark, Strategy
from harness.contract.records import CellRecord, CellStatus, InFlight, LedgerRow
from harness.ledger import CellAccount
from harness.problem import make_problem
from harness.redaction import redacted, redacted_data
from harness.tuning.exploits import why_invalid
from harness.tuning.incumbents import KeepIncumbent
from harness.tuning.names import count_ids_of
from harness.tuning.random_states import seed_globals
from harness.tuning.recorder import Recorder
from harness.tuning.scheduler import RecordingScheduler
from harness.tuning.scores import Scoreboard
from harness.tuning.searcher import SearcherTime, told_searcher
from strategies.check import build_plan


class CellTuning:
    """A strategy's searcher and scheduler for one cell, wrapped, and the cell's recorder.

    Seeds this process's global random states, which PBT and ASHA draw from: one cell at a time in
    a process.
    """

    def __init__(
        self,
        spec: CellSpec,
        strategy: Strategy,
        benchmark: Benchmark,
        folder: Path,
        searcher_time: SearcherTime,
        keep_incumbent: KeepIncumbent,
        *,
        is_followed: bool,
    ) -> None:
        seed_globals(spec.seed)
        self._searcher_time = searcher_time
        self.spec, self.strategy, self.benchmark = spec, strategy, benchmark
        self._folder = folder
        slots = spec.devices.slots
        self.problem = make_problem(benchmark, slots, spec.budget_epochs, spec.seed)
        self.plan = build_plan(strategy, self.problem, benchmark.gives_checkpoints)
        count_ids_of(self.plan.searcher)
        scores = Scoreboard(benchmark.mode)
        self.scheduler = RecordingScheduler(
            self.plan.scheduler,
            metric=benchmark.metric,
            max_epochs=benchmark.max_epochs,
            scores=scores,
            heals=strategy.changes_config,
        )
        self.searcher, self.told = told_searcher(
            self.plan.searcher, benchmark.metric, slots, scores, searcher_time
        )
        self.recorder = Recorder(
            folder,
            benchmark,
            self.scheduler,
            self.told,
            rungs=self.plan.rungs,
            slots=slots,
            devices_per_slot=spec.devices.per_slot,
            max_same_failures=spec.study.max_same_failures,
            max_trials=spec.study.max_trials,
            keep_incumbent=keep_incumbent,
            is_followed=is_followed,
        )

    @property
    def searches_by_variants(self) -> bool:
        """Whether Tune itself draws from the space; other searchers have it already."""
        return isinstance(self.plan.searcher, BasicVariantGenerator)

    def record(
        self,
        account: CellAccount,
        *,
        setup_seconds: float,
        wall_seconds: float,
        warnings: Sequence[str] = (),
    ) -> CellRecord:
        """The cell's record, once the recorder is finished."""
        spec, recorder, plan = self.spec, self.recorder, self.plan
        scale = spec.devices.per_slot
        status, reason = _outcome(spec, plan.scheduler, recorder, account)
        events = (self._folder / "events.jsonl").read_bytes()
        return CellRecord(
            strategy=spec.strategy,
            seed=spec.seed,
            status=status,
            reason=redacted(reason),
            max_epochs=self.benchmark.max_epochs,
            rungs=list(plan.rungs),
            settings=redacted_data(dict(plan.settings)),
            warnings=redacted_data([*plan.warnings, *warnings]),
            slots=spec.devices.slots,
            devices=spec.devices.held,
            budget_device_seconds=spec.budget_device_seconds,
            # Devices × seconds may round to a bit above what the seconds were made from.
            held_device_seconds=min(
                account.ended_s * spec.devices.held, spec.budget_device_seconds
            ),
            setup_seconds=setup_seconds,
            wall_seconds=wall_seconds,
            searcher_seconds=self._searcher_time.seconds,
            ledger=[
                LedgerRow(
                    trial=charge.trial, kind=charge.kind, device_seconds=charge.seconds * scale
                )
                for charge in account.charges
            ],
            in_flight=[
                InFlight(
                    trial=trial,
                    epoch=recorder.epoch_under_way(trial),
                    device_seconds=seconds * scale,
                )
                for trial, seconds in account.in_flight
            ],
            incumbent=recorder.incumbent,
            trials=dict(recorder.counts.ended),
            events=events.count(b"\n"),
            events_sha256=hashlib.sha256(events).hexdigest(),
        )


def _outcome(
    spec: CellSpec, scheduler: TrialScheduler, recorder: Recorder, account: CellAccount
) -> tuple[CellStatus, str]:
    """How a cell ended, and why, in one line."""
    if recorder.stop_reason is not None and recorder.stop_status == "failed":
        return "failed", recorder.stop_reason
    if not recorder.started_trials:
        return "failed", "the searcher proposed no trial"
    if recorder.epochs == 0 and not recorder.counts.ended["failed"]:
        return "failed", "no epoch fitted into the budget"
    if recorder.incumbent is None:
        return "failed", "no valid result: every trial failed or diverged"
    if (failed := _all_that_ended_failed(recorder)) is not None:
        return "failed", f"no valid result: all {failed} trials that came to an end failed"
    if (reason := why_invalid(scheduler, recorder.epochs_of_trials())) is not None:
        return "failed", reason
    if account.ended_s < spec.budget_seconds:
        share = account.ended_s / spec.budget_seconds
        why = recorder.stop_reason or "the searcher ended"
        return "completed", f"{why} after {share:.0%} of the budget"
    return "completed", "the budget was spent"


def _all_that_ended_failed(recorder: Recorder) -> int | None:
    """How many, where all trials failed but those under way at the cut, which came no further: what
    these have reported is what the others had reported before they failed."""
    ended = recorder.counts.ended
    if ended["finished"] or ended["stopped"] or ended["diverged"] or ended["failed"] < 2:
        return None
    furthest = max(recorder.epochs_of_trials("failed"))
    under_way = recorder.epochs_of_trials("cut")
    is_all = ended["failed"] >= len(under_way) and max(under_way, default=0) <= furthest
    return ended["failed"] if is_all else None
