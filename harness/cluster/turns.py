"""The pool's side of a replay: each trial's answers of the past, each when its turn has come."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from harness.cluster.journal import Answer, Heard, Reported, Saved


class Turn(NamedTuple):
    """A trial's answer of the past, and how many reports the trial had made before it."""

    answer: Answer
    reports: int


class Turns:
    """See the module. ``over`` is set when all of the past has been heard again."""

    def __init__(self, lines: Sequence[Heard]) -> None:
        self._lines = lines
        self._left = Counter(line.trial for line in lines if isinstance(line, Answer))
        self._heard, self._given = 0, -1
        self._given_to: dict[int, int] = {}
        self._reports = Counter[int]()
        self._moved = asyncio.Condition()
        self.over = asyncio.Event()
        if not lines:
            self.over.set()

    async def advance(self, heard: int) -> None:
        """So many lines have been heard."""
        async with self._moved:
            self._heard = max(heard, self._heard)
            self._moved.notify_all()
        if self._heard == len(self._lines):
            self.over.set()

    async def next(self, trial: int) -> Turn | None:
        """A trial's next answer of the past, once all before it has been heard; ``None``: it has
        no more."""
        async with self._moved:
            while self._left[trial]:
                line = self._lines[self._heard] if self._heard < len(self._lines) else None
                if isinstance(line, Answer) and line.trial == trial and self._is_given():
                    self._left[trial] -= 1
                    self._given_to[trial] = self._given
                    turn = Turn(line, self._reports[trial])
                    self._reports[trial] += isinstance(line, Reported)
                    return turn
                await self._moved.wait()
            # How far it is, is known when its last answer has been heard.
            while self._heard <= self._given_to.get(trial, -1):
                await self._moved.wait()
        return None

    async def save(self, trial: int) -> None:
        """Wait until a trial's checkpoint was there, in the past; or until the past is over: it was
        killed before."""
        async with self._moved:
            while self._heard < len(self._lines):
                line = self._lines[self._heard]
                if isinstance(line, Saved) and line.trial == trial and self._is_given():
                    return
                await self._moved.wait()

    def _is_given(self) -> bool:
        """Give the line whose turn it is, unless it has been given."""
        is_first = self._given < self._heard
        self._given = self._heard
        return is_first
