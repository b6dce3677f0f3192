"""A benchmark harness for searcher + scheduler pairs on Ray Tune."""

__version__ = "0.1.0"
