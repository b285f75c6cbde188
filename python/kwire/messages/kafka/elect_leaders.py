"""ElectLeaders (key 43): give partitions new leaders, the preferred ones or any that live (KIP-183, Kafka 2.2).

Versions:
    1  unclean elections; an error for the answer as a whole (KIP-460, Kafka 2.4)
    2  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class ElectLeadersRequest(Request["ElectLeadersResponse"], api_key=43, versions="0-2", flexible="2+"):
    """Starts an election in the named partitions; with ZooKeeper only the controller may be asked."""

    election_type: int8 = field(since=1, default=0)
    """0: hand leadership back to the first replica, when it is in sync. 1: take any live replica, even one out of sync,
    at the price of lost records. Version 0 can only do the first."""
    topic_partitions: nullable[array[TopicPartitions]]
    """What to elect for; None for every partition of the cluster."""
    timeout_ms: int32 = 60000
    """Milliseconds the controller waits for the new leaders to be known before it answers 7 for those that are not."""


class TopicPartitions(Struct):
    """The partitions of one topic that need a leader."""

    topic: string
    """The topic that the partitions belong to."""
    partitions: array[int32]
    """Which of its partitions, by their ids from 0."""


class ElectLeadersResponse(Message, api_key=43, versions="0-2", flexible="2+"):
    """What became of each election."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    error_code: int16 = field(since=1, default=0)
    """Why the whole request failed, such as 41 (not the controller) or 31 (not allowed); 0 when partitions decide."""
    replica_election_results: array[ReplicaElectionResult]
    """By topic; empty when the request failed whole."""


class ReplicaElectionResult(Struct):
    """The outcomes in one topic."""

    topic: string
    """The topic that the outcomes are about."""
    partition_result: array[PartitionResult]
    """One entry a partition asked for; when all were asked for, those with nothing to do (84) are left out."""


class PartitionResult(Struct):
    """How the election in one partition went."""

    partition_id: int32
    """Which partition of the topic."""
    error_code: int16
    """0 elected; 84 the leader was right already; 80 the first replica is not in sync; 83 no live replica will do."""
    error_message: nullable[string]
    """The reason for a person to read; None on success or when the code says it all."""
