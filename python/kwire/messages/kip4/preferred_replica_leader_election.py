"""PreferredReplicaLeaderElection: elect the preferred leaders of partitions (KIP-4).

The election has completed once the leader is the first of the replicas. The drafts do not define an API key; kwire uses
1003.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int32, string
from kwire.messages.kip4.structures import ReplicationResult


class PreferredReplicaLeaderElectionRequest(
    Request["PreferredReplicaLeaderElectionResponse"], api_key=1003, versions="0", dialect="kip4"
):
    """Starts elections of preferred leaders."""

    topics: array[TopicPartitions]
    """The partitions to elect leaders for; empty for all partitions of all topics."""


class TopicPartitions(Struct):
    """Partitions of a topic."""

    topic: string
    """The name of the topic; error 3 if it does not exist."""
    partition_ids: array[int32]
    """The partition indexes; empty for all partitions of the topic."""


class PreferredReplicaLeaderElectionResponse(Message, api_key=1003, versions="0", dialect="kip4"):
    """The result for each topic."""

    topics: array[ReplicationResult]
    """The result for each topic, or for all topics. If a request for all topics fails as a whole, one entry with an
    empty topic has the error."""
