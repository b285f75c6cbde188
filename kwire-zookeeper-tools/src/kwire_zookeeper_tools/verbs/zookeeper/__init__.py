"""Show pending work of the controller in ZooKeeper, and decode znodes (before Kafka 4.0)."""

NEEDS_ASYNCIO = True  # the sessions of kazoo are futures of asyncio
