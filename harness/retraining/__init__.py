"""Incumbents trained again from their start with fresh seeds, once a study's cells are done."""
