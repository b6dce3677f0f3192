"""Pure analysis: records and frames in, frames and records out; no files, no clock, no Ray."""

from reports.analysis.analyse import Analysis, analyse
from reports.analysis.savings import SynchronousIdeal, synchronous_ideal

__all__ = ["Analysis", "SynchronousIdeal", "analyse", "synchronous_ideal"]
