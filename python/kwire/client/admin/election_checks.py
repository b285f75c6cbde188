"""Checks of elections: partitions that are led as requested already, and elections that no replica can win.

Neither Kafka nor the drafts can validate an election without holding it. Nodes of the drafts answer by topic, and
report nothing of an election that no replica can win, so their outcomes by partition are these checks as well.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.errors import AdminError
from kwire.client.admin.topic_descriptions import describe
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.values import PartitionDescription

__all__ = ["check_election"]


async def check_election(admin: AdminSession, named: Mapping[str, Sequence[int]] | None, *, unclean: bool) -> Outcomes:
    """Return the errors that an election of partitions would have. See `elect_leaders` for the arguments."""
    checked: dict[str, AdminError | None] = {}
    unchanged: set[str] = set()
    live = {broker.id for broker in (await admin.router.describe_cluster()).brokers}
    for name, topic in (await describe(admin, tuple(named or ()))).items():
        if not isinstance(topic, TopicDescription):
            items = [f"{name}-{index}" for index in (named and named[name]) or ()] or [name]
            error = topic
            if admin.dialect == "kafka" and topic.code == ErrorCode.INVALID_TOPIC_EXCEPTION:
                # An election looks up the name, and does not ask whether a topic could have it.
                error = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
            checked |= {item: AdminError(error.code, error.name, item, error.text, needs=error.needs) for item in items}
            continue
        by_index = {partition.partition: partition for partition in topic.partitions}
        for index in (named and named[name]) or by_index:
            item = f"{name}-{index}"
            partition = by_index.get(index)
            if partition is None:
                checked[item] = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, item)
            elif partition.leader is not None if unclean else partition.replicas[:1] == (partition.leader,):
                checked[item] = None
                unchanged.add(item)
            else:
                checked[item] = _refusal(item, partition, live, unclean=unclean)
    return Outcomes(checked, unchanged=unchanged)


def _refusal(item: str, partition: PartitionDescription, live: Collection[int], *, unclean: bool) -> AdminError | None:
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
