"""Random numbers that are a function of what they are for, not of what was drawn before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

_STANDARD = NormalDist()
DIGITS = 12
"""Of a configuration's numbers, of the nearly 16 that a float has."""


class Noise:
    """The random numbers of one configuration and seed, each addressed by integers of its own.

    A counter-based generator: a keyed hash (BLAKE2b) of the address, so that a trial that is
    paused, copied or trained in another order finds the same numbers. The last digits of a
    configuration's numbers do not count: another processor's exponential function ends in others.
    """

    def __init__(self, config: Mapping[str, Any], seed: int) -> None:
        plain = {name: without_last_digits(value) for name, value in config.items()}
        # Searchers may give numpy's numbers, which JSON does not know: ``item`` makes them plain.
        text = json.dumps([plain, int(seed)], sort_keys=True, default=lambda value: value.item())
        self._key = hashlib.sha256(text.encode()).digest()

    def integer(self, *address: int) -> int:
        """Uniform over 0 … 2⁶⁴ − 1."""
        text = ",".join(map(str, address)).encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._key, digest_size=8).digest(), "big")

    def uniform(self, *address: int) -> float:
        """Uniform over (0, 1), both ends excluded."""
        return ((self.integer(*address) >> 12) + 0.5) / 2**52

    def normal(self, *address: int) -> float:
        """Standard normal."""
        return _STANDARD.inv_cdf(self.uniform(*address))


def without_last_digits(value: Any) -> Any:
    """The same on every processor, where it is a float; what is none stays as it is."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
