"""Leads a cell's Tune through what it heard before its process was killed, and then notes what it
hears. The pool's side of this is :mod:`harness.cluster.turns`.

Searcher and scheduler are not restored but told everything again, in the same order, by the same
code: what they are then is what they were, global random states included, whichever strategy it
is. The pool holds each answer back until all that came before it has been heard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ray import tune
from ray.tune.experiment import Trial

from harness.cluster.journal import (
    ActorDied,
    Failed,
    Heard,
    Journal,
    Reported,
    Saved,
    Suggested,
    heard,
)
from harness.contract.records import Parent
from harness.tuning.event_log import OtherHistoryError
from harness.tuning.names import trial_number
from harness.tuning.recorder import Recorder
from harness.tuning.results import CUT, EXTRA, FAILED


class Replay(tune.Callback):
    """The cell's side: a Tune callback, asked before the recorder.

    Args:
        advance: told how many lines have been heard again.
        tell_report: told the trial, the epoch and the parent of each report that Tune hears.
        tell_death: told the number of a trial whose actor died.
    """

    def __init__(
        self,
        journal: Journal,
        recorder: Recorder,
        advance: Callable[[int], None],
        tell_report: Callable[[int, int, Parent | None], None],
        tell_death: Callable[[int], None],
    ) -> None:
        self._journal, self._recorder = journal, recorder
        self._advance, self._tell_report, self._tell_death = advance, tell_report, tell_death
        self._lines: Sequence[Heard] = heard(journal.past)
        self.heard = 0
        """Lines of the past that have been heard again."""

    def __getstate__(self) -> dict[str, Any]:
        """As the recorder's."""
        return {}

    @property
    def is_over(self) -> bool:
        return self.heard == len(self._lines)

    def may_suggest(self) -> bool:
        """Whether it is the searcher's turn."""
        return self.is_over or isinstance(self._lines[self.heard], Suggested)

    def suggested(self, tune_id: str) -> None:
        self._hear(Suggested(tune_id=tune_id))

    def on_trial_result(
        self,
        iteration: int,
        trials: list[Trial],
        trial: Trial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        if CUT in result:
            return
        extra, number = result[EXTRA], trial_number(str(trial))
        if FAILED in result:
            self._hear(Failed(trial=number, failures=extra))
            return
        self._tell_report(number, result["training_iteration"], extra.parent)
        self._hear(
            Reported(
                trial=number,
                epoch=result["training_iteration"],
                metrics=dict(extra.metrics),
                spans=extra.spans,
                slot=extra.slot,
                started_s=extra.started_s,
                reported_s=extra.reported_s,
                trial_seconds=dict(extra.trial_seconds),
                parent=extra.parent,
                failures=extra.failures,
                charges=list(extra.charges),
            )
        )

    def on_checkpoint(
        self,
        iteration: int,
        trials: list[Trial],
        trial: Trial,
        checkpoint: tune.Checkpoint,
        **info: Any,
    ) -> None:
        self._hear(Saved(trial=trial_number(str(trial))))

    def on_trial_recover(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        # An actor that dies while the past is told again is no part of the cell's story.
        if self.is_over:
            failure = self._recorder.death_of_actor(trial)
            self._journal.append(ActorDied(tune_id=trial.trial_id, failure=failure))
            self._tell_death(trial_number(str(trial)))
            self._recorder.note_death(trial, failure)

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        # Deaths come from nobody who could be asked to die again. Here, once the recorder has
        # heard what came before. The trial need not run: which of those that wait has a slot is
        # not told again, only what came of it.
        while not self.is_over and isinstance(line := self._lines[self.heard], ActorDied):
            trial = next((trial for trial in trials if trial.trial_id == line.tune_id), None)
            if trial is None:
                return
            self._tell_death(trial_number(str(trial)))
            self._recorder.note_death(trial, line.failure)
            self._go_on()

    def _hear(self, line: Heard) -> None:
        if self.is_over:
            self._journal.append(line)
            return
        expected = self._lines[self.heard]
        # As text, because NaN is not equal to itself.
        if line.model_dump_json() != expected.model_dump_json():
            raise OtherHistoryError(f"heard {line!r} in place of {expected!r}")
        self._go_on()

    def _go_on(self) -> None:
        self.heard += 1
        self._advance(self.heard)
