"""DescribeTopicPartitions (key 75): topics in pages, with those who may lead after a disaster (KIP-966, Kafka 3.8).

Metadata's successor for tools: a cluster's topics can be too many for one answer. Topics come sorted by name and
partitions by number; ``next_cursor`` of one answer is the ``cursor`` of the next question. Only KRaft brokers know it.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string, uuid


class DescribeTopicPartitionsRequest(
    Request["DescribeTopicPartitionsResponse"], api_key=75, versions="0", flexible="0+"
):
    """Asks for one page."""

    topics: array[TopicRequest]
    """Which topics; empty for all. To turn pages repeat the same topics with another cursor."""
    response_partition_limit: int32 = 2000
    """How many partitions a page may have; the broker's ``max.request.partition.size.limit`` may be lower."""
    cursor: nullable[Cursor] = None
    """The partition at which to begin; None for the first page."""


class TopicRequest(Struct):
    """A topic to describe."""

    name: string
    """The name of the topic; this API knows no ids."""


class Cursor(Struct):
    """A place in the list of all partitions."""

    topic_name: string
    """The topic to go on with; topics whose names sort before it have been told."""
    partition_index: int32
    """The first partition of that topic that has not been told yet."""


class DescribeTopicPartitionsResponse(Message, api_key=75, versions="0", flexible="0+"):
    """One page."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    topics: array[DescribeTopicPartitionsResponseTopic]
    """The topics of this page by name; the first and the last may have further partitions on other pages."""
    next_cursor: nullable[Cursor] = None
    """Where the next page begins; None on the last one."""


class DescribeTopicPartitionsResponseTopic(Struct, key="name"):
    """One topic, or as much of it as fits the page."""

    error_code: int16
    """0, 3 unknown topic, 17 bad name, 29 not permitted."""
    name: nullable[string]
    """The topic's name; never None in answers to requests by name."""
    topic_id: uuid
    """Tells the topic from a later one of the same name (KIP-516); zero on error."""
    is_internal: bool
    """Whether Kafka made it for its own use, like ``__consumer_offsets``."""
    partitions: array[DescribeTopicPartitionsResponsePartition]
    """Its partitions by number, those of this page only."""
    topic_authorized_operations: int32 = -2147483648
    """What the caller may do with the topic, always told: bit n for ACL operation n; -2147483648 when not known."""


class DescribeTopicPartitionsResponsePartition(Struct, key="partition_index"):
    """One partition: who leads it, who holds copies, and who might lead after a disaster."""

    error_code: int16
    """0, 5 no leader just now, 72 the leader lacks this listener."""
    partition_index: int32
    """The number of the partition within its topic, from 0."""
    leader_id: int32
    """The broker to produce to and fetch from, -1 when there is none."""
    leader_epoch: int32 = -1
    """Counts the leaders of the partition; -1 when not known."""
    replica_nodes: array[int32]
    """The brokers assigned to hold copies; the first is the preferred leader."""
    isr_nodes: array[int32]
    """Those of them that are in sync, the leader included."""
    eligible_leader_replicas: nullable[array[int32]] = None
    """Out of sync, yet holding all committed records: safe to lead when nobody in sync is left. None: not known."""
    last_known_elr: nullable[array[int32]] = None
    """Struck off that list after an unclean stop, so perhaps short of records: the last resort. None: not known."""
    offline_replicas: array[int32]
    """Those assigned that are down, or whose log directory has failed."""
