"""`kafka brokers list`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kwire.client.admin import TopicDescription
from kwire.operations.declaration import Rows, operation
from kwire.operations.run import Run


@dataclass(frozen=True, slots=True)
class BrokerSummary:
    """A live broker.

    Attributes:
        broker: its id.
        host: its host.
        port: its port.
        rack: its rack; None if it has none.
        controller: true if it is the controller. A KRaft cluster names a random broker.
        leaders: number of partitions that it leads.
        replicas: number of replicas.
    """

    broker: int
    host: str
    port: int
    rack: str | None
    controller: bool
    leaders: int
    replicas: int


@operation(lists="brokers", examples=("brokers list",))
async def list_(run: Run) -> Rows[BrokerSummary]:
    """List the live brokers with their numbers of leaders and replicas."""
    cluster = await run.admin.describe_cluster()
    topics = await run.admin.describe_topics()
    partitions = [each for topic in topics.values() if isinstance(topic, TopicDescription) for each in topic.partitions]
    leaders = Counter(each.leader for each in partitions)
    replicas = Counter(replica for each in partitions for replica in each.replicas)
    return [
        BrokerSummary(
            each.id, each.host, each.port, each.rack, each == cluster.controller, leaders[each.id], replicas[each.id]
        )
        for each in sorted(cluster.brokers)
    ]
