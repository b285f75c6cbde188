"""`kafka brokers list`."""

from __future__ import annotations

from collections import Counter

from kwire._util.light_dataclasses import dataclass
from kwire.client.admin import TopicDescription
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class BrokerSummary:
    """A live broker.

    Attributes:
        broker: its id.
        host: its host.
        port: its port.
        rack: its rack; None if it has none.
        controller: true if it is the active controller; None if no broker names it.
        leaders: number of partitions that it leads.
        replicas: number of replicas.
    """

    broker: int
    host: str
    port: int
    rack: str | None
    controller: bool | None
    leaders: int
    replicas: int


@operation(lists="brokers", examples=("brokers list",))
async def list_(run: Run) -> Rows[BrokerSummary]:
    """List the live brokers with their numbers of leaders and replicas."""
    cluster = await run.admin.describe_cluster()
    controller = await run.admin.active_controller()
    topics = await run.admin.describe_topics()
    partitions = [
        partition for topic in topics.values() if isinstance(topic, TopicDescription) for partition in topic.partitions
    ]
    leaders = Counter(partition.leader for partition in partitions)
    replicas = Counter(replica for partition in partitions for replica in partition.replicas)
    return [
        BrokerSummary(
            broker.id,
            broker.host,
            broker.port,
            broker.rack,
            None if controller is None else broker.id == controller,
            leaders[broker.id],
            replicas[broker.id],
        )
        for broker in sorted(cluster.brokers, key=lambda broker: broker.id)
    ]
