"""Move partitions to other brokers: make a plan, execute it, watch it, and roll it back."""

ALIASES = ("reassign-partition", "reassign")
