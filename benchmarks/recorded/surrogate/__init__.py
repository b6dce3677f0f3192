"""Predicts learning curves of configurations between those of a recorded table."""

from benchmarks.recorded.surrogate.model import Surrogate

__all__ = ["Surrogate"]
