"""Add partitions to topics."""

ALIASES = ("partition",)
