"""Benchmarks that are formulas: known optima, no data, microseconds per epoch."""

from benchmarks.analytic.conditional_space import ConditionalSpace
from benchmarks.analytic.hartmann import HartmannPowerLaw
from benchmarks.analytic.noisy_quadratic import NoisyQuadratic
from benchmarks.analytic.slow_starters import SlowStarters

__all__ = ["ConditionalSpace", "HartmannPowerLaw", "NoisyQuadratic", "SlowStarters"]
