"""Show what the controller has to do, as ZooKeeper has it (before Kafka 4.0)."""

NEEDS_ASYNCIO = True  # the sessions of kazoo are futures of asyncio
