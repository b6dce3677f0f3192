"""Benchmarks that are formulas: known optima, no data, microseconds per epoch.

Their targets are what the best 50, 20, 5 and 1 % of 5,000 random configurations reach when trained
whole, to the default cap, rounded: the best of 50 reaches the last about two times in five.
"""

from benchmarks.analytic.conditional_space import ConditionalSpace
from benchmarks.analytic.hartmann import HartmannPowerLaw
from benchmarks.analytic.noisy_quadratic import NoisyQuadratic
from benchmarks.analytic.slow_starters import SlowStarters

__all__ = ["ConditionalSpace", "HartmannPowerLaw", "NoisyQuadratic", "SlowStarters"]
