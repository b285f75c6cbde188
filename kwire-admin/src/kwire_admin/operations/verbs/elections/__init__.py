"""Elect leaders of partitions."""

ALIASES = ("election",)
