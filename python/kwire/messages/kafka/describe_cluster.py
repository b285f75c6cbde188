"""DescribeCluster (key 60): the brokers, controller, and id of a cluster (KIP-700, Kafka 2.8).

Versions:
    1  KRaft controllers as endpoints, for tools that connect to the quorum (KIP-919, Kafka 3.7)
    2  fenced brokers (KIP-1073, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DescribeClusterRequest(Request["DescribeClusterResponse"], api_key=60, versions="0-2", flexible="0+"):
    """Requests the members of the cluster."""

    include_cluster_authorized_operations: bool
    """True to include the cluster operations that the client is authorized for. The broker checks each of them."""
    endpoint_type: int8 = field(since=1, default=1)
    """The type of nodes to list: 1 brokers, 2 KRaft controllers. Error 114 if the receiving node has another type."""
    include_fenced_brokers: bool = field(since=2, default=False)
    """True to include brokers that are registered but fenced, for example because they are stopped; KRaft only."""


class DescribeClusterResponse(Message, api_key=60, versions="0-2", flexible="0+"):
    """The members of the cluster as the responding node knows them."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 114 the node has another endpoint type; 115 unknown endpoint type."""
    error_message: nullable[string] = None
    """The error message; None if there is nothing to add to the error code."""
    endpoint_type: int8 = field(since=1, default=1)
    """The type of nodes in `brokers`: 1 brokers, 2 controllers."""
    cluster_id: string
    """The id of the cluster, usually 22 characters; the same at every node."""
    controller_id: int32 = -1
    """The active controller; -1 if unknown. KRaft brokers return any live broker, because all of them forward
    requests."""
    brokers: array[DescribeClusterBroker]
    """The nodes, in no particular order, with their addresses at the listener of the request."""
    cluster_authorized_operations: int32 = -2147483648
    """The authorized operations as a bit field of ACL operations; -2147483648 if not requested."""


class DescribeClusterBroker(Struct, key="broker_id"):
    """A broker or, with endpoint type 2, a controller."""

    broker_id: int32
    """The node id; KRaft brokers and controllers share one range of ids."""
    host: string
    """The advertised host name or address, resolved by the client."""
    port: int32
    """The advertised TCP port."""
    rack: nullable[string] = None
    """The rack of the broker (`broker.rack`); None if not configured, and for controllers."""
    is_fenced: bool = field(since=2, default=False)
    """True if the broker is fenced: registered, but without leaders and clients because it is down or catching up
    (KIP-631)."""
