"""ClusterMetadata: the brokers and the controller of a cluster (KIP-4, KAFKA-1694)."""

from __future__ import annotations

from kwire.declare import Message, Request, array, field, int16, maybe, string
from kwire.messages.kip4.structures import Broker


class ClusterMetadataRequest(Request["ClusterMetadataResponse"], api_key=1000, versions="0-1", dialect="kip4"):
    """Requests the brokers and the controller from any broker.

    The drafts do not define an API key; kwire uses 1000. Version 1 is kwire's: the response has the cluster id.
    """


class ClusterMetadataResponse(Message, api_key=1000, versions="0-1", dialect="kip4"):
    """The live brokers and the controller."""

    error_code: int16
    """An `ErrorCode`; 0 on success."""
    brokers: array[Broker]
    """The live brokers, in no particular order."""
    controller: maybe[Broker] = None
    """The controller, which handles admin requests; None if it is unknown. During an election the error code is 0:
    retry."""
    cluster_id: maybe[string] = field(since=1, default=None, ignorable=True)
    """The id in the znode `/cluster/id`; None if the node has not read it yet."""
