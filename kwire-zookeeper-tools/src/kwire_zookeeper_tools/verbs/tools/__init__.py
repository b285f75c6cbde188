"""List and run replacements of Kafka's smaller Java tools, on this machine or on a node of a KIP-4 cluster."""

NEEDS_ASYNCIO = True  # tools open ZooKeeper, processes, and clusters of their own
