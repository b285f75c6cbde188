"""`kafka brokers list`."""

from __future__ import annotations

from collections import Counter

from kwire._util.light_dataclasses import dataclass
from kwire.client.admin import TopicDescription
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.visibility import explain_if_hidden


@dataclass(frozen=True, slots=True)
class BrokerSummary:
    """A live broker.

    Attributes:
        broker: its id.
        host: its host.
        port: its port.
        rack: its rack; None if it has none.
        controller: true if it is the active controller; None if no broker names it.
        leaders: number of partitions that it leads, of topics that the user may describe; None if no topic is visible,
            and there can be some.
        replicas: number of replicas, like `leaders`.
    """

    broker: int
    host: str
    port: int
    rack: str | None
    controller: bool | None
    leaders: int | None
    replicas: int | None


@operation(lists="brokers", examples=("brokers list",))
async def list_(run: Run) -> Rows[BrokerSummary]:
    """List the live brokers with their numbers of leaders and replicas."""
    cluster = await run.admin.describe_cluster()
    controller = await run.admin.active_controller()
    topics = await run.admin.describe_topics()
    partitions = [
        partition for topic in topics.values() if isinstance(topic, TopicDescription) for partition in topic.partitions
    ]
    hidden = await explain_if_hidden(run, len(topics), "topics", done="counted")
    if hidden is not None:
        run.warn(f"{hidden}: leaders and replicas are not known.")
    leaders = Counter(partition.leader for partition in partitions)
    replicas = Counter(replica for partition in partitions for replica in partition.replicas)
    return [
        BrokerSummary(
            broker.id,
            broker.host,
            broker.port,
            broker.rack,
            None if controller is None else broker.id == controller,
            None if hidden is not None else leaders[broker.id],
            None if hidden is not None else replicas[broker.id],
        )
        for broker in sorted(cluster.brokers, key=lambda broker: broker.id)
    ]
