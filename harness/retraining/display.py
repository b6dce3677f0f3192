"""What the user sees while incumbents are retrained: one line in place, or a line now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from harness.clock import Clock
from harness.console import say
from harness.contract.records import Retraining
from harness.live import LINE_PERIOD_S, duration


class RetrainingLines:
    """Counts what is done; what fails is told at once, the rest every ``period_s``."""

    def __init__(
        self,
        total: int,
        clock: Clock,
        period_s: float,
        show: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self._total, self._clock, self._period_s = total, clock, period_s
        self._show, self._warn = show, warn
        self._done = 0
        self._first_done: float | None = None
        self._last_line = clock.now()

    def done(self, cell: str, retraining: Retraining) -> None:
        self._done += 1
        now = self._clock.now()
        if self._first_done is None:
            self._first_done = now
        count = f"retraining {self._done} of {self._total}"
        what = f"{cell}, with seed {retraining.seed}"
        if retraining.reason is not None:
            self._warn(f"{count}: {what}: FAILED: {retraining.reason}")
        if now - self._last_line < self._period_s and self._done < self._total:
            return
        self._last_line = now
        self._show(f"{count}: {what}: {_scores(retraining)}; about {self._left(now)} left")

    def _left(self, now: float) -> str:
        """Judged by what came after the first, which waited for what had to start."""
        if self._done == self._total:
            return duration(0.0)
        if self._first_done is None or self._done < 2:
            return "?"
        each = (now - self._first_done) / (self._done - 1)
        return duration(each * (self._total - self._done))


def _scores(retraining: Retraining) -> str:
    if retraining.validation_score is None:
        return "no score"
    test = retraining.test_score
    return f"validation {retraining.validation_score:.4f}" + (
        "" if test is None else f", test {test:.4f}"
    )


@contextmanager
def retraining_lines(console: Console, total: int, clock: Clock) -> Iterator[RetrainingLines]:
    """The display that fits the console."""

    def show(text: str) -> None:
        say(console, text)

    def warn(text: str) -> None:
        say(console, text, "red")

    if not console.is_terminal:
        yield RetrainingLines(total, clock, LINE_PERIOD_S, show, warn)
        return
    first = Text(f"retraining 0 of {total}")
    with Live(first, console=console, auto_refresh=False) as live:
        yield RetrainingLines(
            total, clock, 0.0, lambda text: live.update(Text(text), refresh=True), warn
        )
