"""Polling of consumer groups: their committed offsets, and the ends of the logs that they read."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.messages.kafka.list_groups import ListGroupsRequest
from kwire.messages.kafka.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kwire.messages.kafka.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kwire.client.polled_requests import RequestFactory, RequestSequence
    from kwire.declare import Message

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
"""The timestamps of ListOffsets that request the end and the first offset of a log, and its newest record (KIP-734)."""

PROTOCOL_TYPES = frozenset({"", "consumer"})
"""The groups with committed offsets: consumers, and clients that only commit."""


def group_offsets(groups: Collection[str] | None = None) -> RequestFactory:
    """Return a factory of the requests for the committed offsets of groups and the ends of their logs.

    Each broker gets ListGroups, OffsetFetch for the groups that it coordinates (KIP-709, Kafka 3.0), and ListOffsets
    for the partitions that it leads of all topics with committed offsets. So FindCoordinator is not necessary, and the
    factory must be polled at all brokers. A topic that a group reads for the first time has log ends one poll later,
    if another broker coordinates the group.

    Args:
        groups: the ids of the groups; None for all that a broker lists.
    """
    topics_by_broker: dict[int, set[str]] = {}

    def create(metadata: Message, broker_id: int) -> RequestSequence:
        listed = yield ListGroupsRequest()
        wanted = sorted(_ids(listed.groups, groups)) if listed.error_code == 0 else []
        topics = set()
        if wanted:
            fetched = yield OffsetFetchRequest(
                groups=tuple(OffsetFetchRequestGroup(group_id=group, topics=None) for group in wanted)
            )
            topics = {topic.name for group in fetched.groups for topic in group.topics}
        topics_by_broker[broker_id] = topics
        request = log_offsets(metadata, broker_id, set().union(*topics_by_broker.values()), LATEST)
        if request is not None:
            yield request

    return create


def _ids(listed: Iterable[Any], groups: Collection[str] | None) -> Iterable[str]:
    for group in listed:
        if group.protocol_type in PROTOCOL_TYPES and (groups is None or group.group_id in groups):
            yield group.group_id


def log_offsets(metadata: Any, broker_id: int, topics: Collection[str], timestamp: int) -> ListOffsetsRequest | None:
    """Return the request for an offset of the partitions of some topics that a broker leads; None without any.

    Args:
        timestamp: LATEST or EARLIEST, or milliseconds since 1970.
    """
    requested = []
    of_index: dict[int, ListOffsetsPartition] = {}  # equal in all topics: 40,000 partitions took 4 MB a request
    for topic in metadata.topics:
        if topic.name not in topics:
            continue
        led = sorted([partition.partition_index for partition in topic.partitions if partition.leader_id == broker_id])
        for index in led:
            if index not in of_index:
                of_index[index] = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
        if led:
            partitions = tuple([of_index[index] for index in led])
            requested.append(ListOffsetsTopic(name=topic.name, partitions=partitions))
    if not requested:
        return None
    requested.sort(key=lambda topic: topic.name)
    return ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=tuple(requested))
