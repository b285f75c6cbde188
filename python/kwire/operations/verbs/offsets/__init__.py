"""Offsets of partitions: look them up by time, and delete the records before them."""

ALIASES = ("offset",)
