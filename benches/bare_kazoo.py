"""Writes of topic znodes with bare kazoo, as a baseline for the controller.

All requests are sent before the first response is awaited, which is kazoo's fastest mode, and the data are encoded once
for all topics. A topic has its registration, its configs, and the state of each partition, below `/bare`, which no
cluster reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.cluster.zookeeper import EntityConfig, PartitionState, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REPLICAS = (1, 2, 3)


def create_parents(bare: Any) -> None:
    """Create the parents of all written znodes."""
    for path in ("/bare/brokers/topics", "/bare/config/topics"):
        bare.ensure_path(path)


def write_pipelined(bare: Any, topics: Sequence[str], partitions: int) -> None:
    """Write with one request for each znode."""
    contents = encode_topic(partitions)
    pending = [bare.create_async(*znode) for topic in topics for znode in znodes(topic, partitions, contents)]
    for one in pending:
        one.get()


def write_in_transactions(bare: Any, topics: Sequence[str], partitions: int) -> None:
    """Write with one transaction for each topic, which checks another znode first, as the controller does."""
    contents = encode_topic(partitions)
    pending = []
    for topic in topics:
        transaction = bare.transaction()
        transaction.check("/bare", 0)
        for znode in znodes(topic, partitions, contents):
            transaction.create(*znode)
        pending.append(transaction.commit_async())
    for one in pending:
        assert all(isinstance(result, str | bool) for result in one.get())


def encode_topic(partitions: int) -> tuple[bytes, bytes, bytes]:
    """Return the data of the registration, the configs, and a partition state."""
    registration = TopicRegistration(dict.fromkeys(range(partitions), REPLICAS)).encode()
    return registration, EntityConfig({}).encode(), PartitionState(REPLICAS[0], 0, REPLICAS, 1).encode()


def znodes(topic: str, partitions: int, contents: tuple[bytes, bytes, bytes]) -> Iterator[tuple[str, bytes]]:
    registration, config, state = contents
    path = f"/bare/brokers/topics/{topic}"
    yield path, registration
    yield f"/bare/config/topics/{topic}", config
    yield f"{path}/partitions", b""
    for partition in range(partitions):
        yield f"{path}/partitions/{partition}", b""
        yield f"{path}/partitions/{partition}/state", state
