"""The tool `verify-consumer-rebalance`."""

from __future__ import annotations

from typing import Annotated

from kwire._kwire import Pattern
from kwire.client.admin import TopicPartition
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Option
from kwire_cluster.zookeeper import Store
from kwire_cluster.zookeeper.consumers import ConsumerRegistration
from kwire_cluster.zookeeper.errors import ZnodeError
from kwire_cluster.zookeeper.operations import Znode
from kwire_cluster.zookeeper.topics import TopicRegistration
from kwire_zookeeper_tools.offsets.consumer_offsets import child_names, owners_of
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    runs_on=ANYWHERE,
    needs={Need.ZOOKEEPER},
    replaces=("kafka.tools.VerifyConsumerRebalance",),
    examples=("--zookeeper.connect localhost:2181 --group app",),
)
async def verify_consumer_rebalance(
    run: ToolRun, group: Annotated[str, Option("The consumer group.", "GROUP")]
) -> None:
    """Check that every partition of the topics of a group has an owner that is a live consumer, in ZooKeeper."""
    store = await run.zookeeper()
    consumers = await _registrations(store, group)
    if not consumers:
        raise ToolFailed(f"group {group} has no live consumers in ZooKeeper")
    existing = await child_names(store, "/brokers/topics")
    subscribed = sorted({topic for consumer in consumers.values() for topic in _topics(consumer, existing)})
    problems = 0
    for topic in subscribed:
        znode = (await store.get_many([TopicRegistration.path(topic)]))[0]
        if not isinstance(znode, Znode):
            run.print(f"topic {topic} does not exist")
            problems += 1
            continue
        indexes = sorted(TopicRegistration.decode(znode.data, TopicRegistration.path(topic)).partitions)
        owners = await owners_of(store, group, [TopicPartition(topic, index) for index in indexes])
        for index, owner in zip(indexes, owners, strict=True):
            # An owner is a consumer and the number of its thread.
            if owner is None or owner.rpartition("-")[0] not in consumers:
                problem = "has no owner" if owner is None else f"is owned by {owner}, which is not a live consumer"
                run.print(f"[{topic},{index}] {problem}")
                problems += 1
    if problems:
        run.print("Rebalance operation failed !")
        raise ToolFailed(f"partitions or topics without a valid owner: {problems}")
    run.print("Rebalance operation successful !")


async def _registrations(store: Store, group: str) -> dict[str, ConsumerRegistration]:
    names = await child_names(store, f"/consumers/{group}/ids")
    paths = [ConsumerRegistration.path(group, name) for name in names]
    try:
        return {
            name: ConsumerRegistration.decode(znode.data, path)
            for name, path, znode in zip(names, paths, await store.get_many(paths), strict=True)
            if isinstance(znode, Znode)
        }
    except ZnodeError as error:
        raise ToolFailed(str(error)) from None


def _topics(consumer: ConsumerRegistration, existing: list[str]) -> list[str]:
    """Return the topics of a subscription: named ones, or the matches of a pattern."""
    if consumer.pattern == "static":
        return list(consumer.subscription)
    pattern = "|".join(topics.replace(",", "|") for topics in consumer.subscription)
    try:
        matches = list(map(Pattern(pattern).matches, existing))
    except ValueError as error:
        raise ToolFailed(f"the subscription {pattern!r} is not a regular expression: {error}") from None
    wanted = consumer.pattern == "white_list"
    return [topic for topic, match in zip(existing, matches, strict=True) if match is wanted]
