"""DescribeCluster (key 60): brokers, controller and id of a cluster, without its topics (KIP-700, Kafka 2.8).

Versions:
    1  the nodes can be controllers: for tools that talk to the KRaft quorum itself (KIP-919, Kafka 3.7)
    2  fenced brokers: registered, but not in service (KIP-1073, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DescribeClusterRequest(Request["DescribeClusterResponse"], api_key=60, versions="0-2", flexible="0+"):
    """Asks who belongs to the cluster."""

    include_cluster_authorized_operations: bool
    """Whether to work out what the caller may do with the cluster; costs an authorizer look-up for each operation."""
    endpoint_type: int8 = field(since=1, default=1)
    """Which kind of node to list: 1 brokers, 2 KRaft controllers. The wrong kind for the node asked is error 114."""
    include_fenced_brokers: bool = field(since=2, default=False)
    """Whether to list brokers too that are registered but out of service, e.g. stopped; KRaft only."""


class DescribeClusterResponse(Message, api_key=60, versions="0-2", flexible="0+"):
    """The members of the cluster as the answering node knows them."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    error_code: int16
    """0, 31 not permitted, 114 the node is not of the kind asked for, 115 there is no such kind."""
    error_message: nullable[string] = None
    """The error in words for a person to read; None when there is nothing to add to the code."""
    endpoint_type: int8 = field(since=1, default=1)
    """Which kind of node ``brokers`` holds: 1 brokers, 2 controllers."""
    cluster_id: string
    """The identity of the cluster, 22 characters as a rule; the same at every node."""
    controller_id: int32 = -1
    """The active controller, -1 when not known. KRaft brokers name any live broker here: all of them forward."""
    brokers: array[DescribeClusterBroker]
    """The nodes in no order, each with its address at the listener through which was asked."""
    cluster_authorized_operations: int32 = -2147483648
    """What the caller may do with the cluster: bit n for ACL operation n; -2147483648 when it was not asked for."""


class DescribeClusterBroker(Struct, key="broker_id"):
    """A broker or, when those were asked for, a controller."""

    broker_id: int32
    """Its node id; under KRaft brokers and controllers share one range of numbers."""
    host: string
    """The advertised name or address, to be resolved by the client."""
    port: int32
    """The advertised TCP port."""
    rack: nullable[string] = None
    """Where a broker stands (``broker.rack``); None when not configured, and for controllers."""
    is_fenced: bool = field(since=2, default=False)
    """Whether it is registered but leads nothing and takes no clients, because it is down or catching up (KIP-631)."""
