"""Move partitions to other brokers: make a plan, execute it, watch it, and roll it back."""

NEEDS_ASYNCIO = True  # executions last for hours, and open clients beside the first
ALIASES = ("reassign-partition", "reassign")
