"""Random numbers that are a function of what they are for, not of what was drawn before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

_STANDARD = NormalDist()


class Noise:
    """The random numbers of one configuration and seed, each addressed by integers of its own.

    A counter-based generator: a keyed hash (BLAKE2b) of the address, so that a trial that is
    paused, copied or trained in another order finds the same numbers.
    """

    def __init__(self, config: Mapping[str, Any], seed: int) -> None:
        # Searchers may give numpy's numbers, which JSON does not know: ``item`` makes them plain.
        text = json.dumps([config, int(seed)], sort_keys=True, default=lambda value: value.item())
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
