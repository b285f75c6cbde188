"""DescribeTopicPartitions (key 75): topics and partitions in pages, with eligible leader replicas (KIP-966, Kafka 3.8).

It replaces Metadata for tools, because a cluster can have too many topics for one response. Topics are sorted by name
and partitions by index; `next_cursor` of a response is the `cursor` of the next request. Only KRaft brokers support it.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string, uuid


class DescribeTopicPartitionsRequest(
    Request["DescribeTopicPartitionsResponse"], api_key=75, versions="0", flexible="0+"
):
    """Requests one page."""

    topics: array[TopicRequest]
    """The topics to describe; empty for all. The next pages must list the same topics."""
    response_partition_limit: int32 = 2000
    """The maximum number of partitions in the page; `max.request.partition.size.limit` of the broker may be lower."""
    cursor: nullable[Cursor] = None
    """The first topic and partition of the page; None for the first page."""


class TopicRequest(Struct):
    """A topic to describe."""

    name: string
    """The topic name; this API does not support topic ids."""


class Cursor(Struct):
    """A position in the sorted list of partitions."""

    topic_name: string
    """The name of the topic to continue with."""
    partition_index: int32
    """The index of the partition to continue with."""


class DescribeTopicPartitionsResponse(Message, api_key=75, versions="0", flexible="0+"):
    """A page of topics and partitions."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    topics: array[DescribeTopicPartitionsResponseTopic]
    """The topics of this page by name; the first and last topic can have more partitions on other pages."""
    next_cursor: nullable[Cursor] = None
    """The start of the next page; None on the last page."""


class DescribeTopicPartitionsResponseTopic(Struct, key="name"):
    """A topic and its partitions on this page."""

    error_code: int16
    """0; 3 unknown topic; 17 invalid name; 29 not authorized."""
    name: nullable[string]
    """The topic name; never None, because requests give names."""
    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516); zero on error."""
    is_internal: bool
    """True if the topic is internal to Kafka, like `__consumer_offsets`."""
    partitions: array[DescribeTopicPartitionsResponsePartition]
    """The partitions of the topic on this page, by index."""
    topic_authorized_operations: int32 = -2147483648
    """The authorized operations as a bit field of ACL operations; -2147483648 if unknown."""


class DescribeTopicPartitionsResponsePartition(Struct, key="partition_index"):
    """A partition with its leader, replicas, and eligible leader replicas."""

    error_code: int16
    """0; 5 no leader; 72 the leader does not have the listener of the request."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    leader_id: int32
    """The leader broker; -1 if there is no leader."""
    leader_epoch: int32 = -1
    """The epoch of the leader, which increases with every leader change; -1 if unknown."""
    replica_nodes: array[int32]
    """The brokers of the replicas; the first is the preferred leader."""
    isr_nodes: array[int32]
    """The brokers of the in-sync replicas, including the leader."""
    eligible_leader_replicas: nullable[array[int32]] = None
    """The replicas out of the ISR that have all committed records and can safely become leader; None if unknown."""
    last_known_elr: nullable[array[int32]] = None
    """The replicas removed from the eligible leader replicas after an unclean shutdown, which may lack records; None if
    unknown."""
    offline_replicas: array[int32]
    """The replicas that are offline because their broker or log directory failed."""
