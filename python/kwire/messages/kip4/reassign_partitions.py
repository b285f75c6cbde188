"""ReassignPartitions: move replicas to other brokers (KIP-4).

The drafts define this request and its error code but not its layout. kwire derives the layout from
PreferredReplicaLeaderElection and uses API key 1004.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array
from kwire.messages.kip4.structures import ReplicationResult, TopicReassignment


class ReassignPartitionsRequest(Request["ReassignPartitionsResponse"], api_key=1004, versions="0", dialect="kip4"):
    """Starts reassignments of partitions."""

    topics: array[TopicReassignment]
    """The partitions to move and their new replicas, which must be live brokers."""


class ReassignPartitionsResponse(Message, api_key=1004, versions="0", dialect="kip4"):
    """The result for each topic."""

    topics: array[ReplicationResult]
    """The result for each topic; error 1009 while another reassignment is running."""
