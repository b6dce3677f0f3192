"""Searcher + scheduler pairs: one short module each, found through :mod:`strategies.registry`."""
