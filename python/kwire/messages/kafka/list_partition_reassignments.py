"""ListPartitionReassignments (key 46): which partitions are on the move to other brokers (KIP-455, Kafka 2.4)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string


class ListPartitionReassignmentsRequest(
    Request["ListPartitionReassignmentsResponse"], api_key=46, versions="0", flexible="0+"
):
    """Asks for moves that have not ended; with ZooKeeper only the controller may be asked."""

    timeout_ms: int32 = 60000
    """Milliseconds the controller may take to answer."""
    topics: nullable[array[ListPartitionReassignmentsTopics]] = None
    """What to look at; None for every reassignment of the cluster."""


class ListPartitionReassignmentsTopics(Struct):
    """The partitions of one topic to look at."""

    name: string
    """Which topic to look at; one that does not exist is left out of the answer."""
    partition_indexes: array[int32]
    """Partition ids; an id that is not being moved is left out of the answer, without an error."""


class ListPartitionReassignmentsResponse(Message, api_key=46, versions="0", flexible="0+"):
    """The moves under way; empty when there are none."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    error_code: int16
    """0, or why nothing is listed, such as 41 (not the controller) or 31 (not allowed)."""
    error_message: nullable[string]
    """The reason for a person to read; None on success."""
    topics: array[OngoingTopicReassignment]
    """Topics with at least one partition on the move."""


class OngoingTopicReassignment(Struct, key="name"):
    """A topic with partitions on the move."""

    name: string
    """Which topic has replicas on the move."""
    partitions: array[OngoingPartitionReassignment]
    """Those on the move, no others."""


class OngoingPartitionReassignment(Struct, key="partition_index"):
    """A partition on the move."""

    partition_index: int32
    """Its id within the topic, from 0."""
    replicas: array[int32]
    """Broker ids of all present replicas: the old ones that still stand and the new ones that still catch up."""
    adding_replicas: array[int32]
    """Those of ``replicas`` that come; the move is done once they are in sync."""
    removing_replicas: array[int32]
    """Those of ``replicas`` that go when the move is done."""
