"""Reassignments of partitions to other brokers."""

ALIASES = ("reassign-partition", "reassign")
