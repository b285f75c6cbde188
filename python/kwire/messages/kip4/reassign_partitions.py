"""ReassignPartitions: move replicas to other brokers (KIP-4).

The drafts name this request and its error code but show no layout; this one is decision D7, drawn from its
sister PreferredReplicaLeaderElection. Key 1004 is decision D3.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array
from kwire.messages.kip4.structures import ReplicationResult, TopicReassignment


class ReassignPartitionsRequest(Request["ReassignPartitionsResponse"], api_key=1004, versions="0", dialect="kip4"):
    """Asks the controller to move partitions."""

    topics: array[TopicReassignment]
    """What to move where; only live brokers can be targets."""


class ReassignPartitionsResponse(Message, api_key=1004, versions="0", dialect="kip4"):
    """For which topics the move was started."""

    topics: array[ReplicationResult]
    """One result a topic; 1009 while another reassignment runs."""
