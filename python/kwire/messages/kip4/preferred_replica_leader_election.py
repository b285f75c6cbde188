"""PreferredReplicaLeaderElection: give leadership back to the first replica of each partition (KIP-4).

It has ended once the leader is the head of the partition's replicas. The drafts name no key, 1003 is decision D3.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int32, string
from kwire.messages.kip4.structures import ReplicationResult


class PreferredReplicaLeaderElectionRequest(
    Request["PreferredReplicaLeaderElectionResponse"], api_key=1003, versions="0", dialect="kip4"
):
    """Asks the controller to move leadership to the preferred replicas."""

    topics: array[TopicPartitions]
    """The partitions it is about; empty means all partitions of all topics."""


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic: string
    """The topic whose partitions these are; one that does not exist is error 3."""
    partition_ids: array[int32]
    """Numbers of the partitions; empty means all of the topic."""


class PreferredReplicaLeaderElectionResponse(Message, api_key=1003, versions="0", dialect="kip4"):
    """For which topics the election was started."""

    topics: array[ReplicationResult]
    """One result a topic, every topic where the request was for all.

    When a request for all fails as a whole, one entry with an empty topic carries the code.
    """
