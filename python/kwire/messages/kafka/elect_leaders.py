"""ElectLeaders (key 43): elect leaders of partitions, either preferred or unclean (KIP-183, Kafka 2.2).

Versions:
    1  unclean elections; top-level error code (KIP-460, Kafka 2.4)
    2  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class ElectLeadersRequest(Request["ElectLeadersResponse"], api_key=43, versions="0-2", flexible="2+"):
    """Elects leaders of partitions. With ZooKeeper, only the controller accepts it."""

    election_type: int8 = field(since=1, default=0)
    """0: elect the preferred leader if it is in sync. 1: elect any live replica, even out of sync, which can lose
    records. Version 0 only supports 0."""
    topic_partitions: nullable[array[TopicPartitions]]
    """The partitions to elect leaders for; None for all partitions of the cluster."""
    timeout_ms: int32 = 60000
    """The time in milliseconds to wait for the new leaders; error 7 for partitions that have none by then."""


class TopicPartitions(Struct):
    """The partitions of a topic."""

    topic: string
    """The name of the topic that the partitions belong to."""
    partitions: array[int32]
    """The partition indexes, starting at 0."""


class ElectLeadersResponse(Message, api_key=43, versions="0-2", flexible="2+"):
    """The result of each election."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16 = field(since=1, default=0)
    """The error of the whole request, for example 41 not the controller or 31 not authorized; 0 otherwise."""
    replica_election_results: array[ReplicaElectionResult]
    """The results by topic; empty if the whole request failed."""


class ReplicaElectionResult(Struct):
    """The results for the partitions of a topic."""

    topic: string
    """The name of the topic that the partitions belong to."""
    partition_result: array[PartitionResult]
    """The result for each partition. If all partitions were requested, partitions without need for an
    election (84) are left out."""


class PartitionResult(Struct):
    """The result for one partition."""

    partition_id: int32
    """The index of the partition within its topic."""
    error_code: int16
    """0 elected; 84 no election needed; 80 the preferred leader is not in sync; 83 no eligible leader."""
    error_message: nullable[string]
    """The error message; None if there is nothing to add to the error code."""
