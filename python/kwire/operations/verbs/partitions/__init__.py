"""Partitions of topics."""

ALIASES = ("partition",)
