"""Elections that no replica can win. They are refused without waiting: nodes of the drafts report nothing of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kwire.client.admin import AdminClient, PartitionDescription

__all__ = ["check_election", "refusal"]


def refusal(item: str, partition: PartitionDescription, live: Collection[int], *, unclean: bool) -> AdminError | None:
    """Return the error of an election that no replica can win; None if one can.

    The last replica in sync stays in the ISR when its broker stops.

    Args:
        item: the subject of the error.
        partition: the partition, which does not have the requested leader.
        live: the ids of the live brokers.
        unclean: true if any live replica may become the leader; false if only the preferred one in sync may.
    """
    if unclean:
        eligible, code = set(partition.replicas), ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        eligible -= set(partition.offline_replicas or ())
    else:
        eligible, code = set(partition.replicas[:1]) & set(partition.isr), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return None if eligible.intersection(live) else AdminError.of_kafka(code, item)


async def check_election(
    admin: AdminClient, named: Mapping[str, Sequence[int]] | None, *, unclean: bool
) -> tuple[Outcomes, list[str]]:
    """Return the errors that an election of partitions would have, and the partitions that need none."""
    checked: dict[str, AdminError | None] = {}
    unchanged: list[str] = []
    live = {broker.id for broker in (await admin.describe_cluster()).brokers}
    for name, topic in (await admin.describe_topics(named or ())).items():
        if not isinstance(topic, TopicDescription):
            checked[name] = topic
            continue
        by_index = {partition.partition: partition for partition in topic.partitions}
        for index in (named and named[name]) or by_index:
            item = f"{name}-{index}"
            partition = by_index.get(index)
            if partition is None:
                checked[item] = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, item)
            elif partition.leader is not None if unclean else partition.replicas[:1] == (partition.leader,):
                unchanged.append(item)
            else:
                checked[item] = refusal(item, partition, live, unclean=unclean)
    return Outcomes(checked), unchanged
