"""ControlledShutdown (key 7): move leaderships away from a broker before it shuts down.

A broker sends it to the ZooKeeper controller. Removed in Kafka 4.0: under KRaft, BrokerHeartbeat announces a shutdown.
Version 0 has request header version 0, which lacks the client id.

Versions:
    1  request header with a client id
    2  broker epochs (KIP-380, Kafka 2.2)
    3  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, string


class ControlledShutdownRequest(
    Request["ControlledShutdownResponse"], api_key=7, versions="0-3", flexible="3+", header_version={0: 0}
):
    """Announces the shutdown of a broker."""

    broker_id: int32
    """The broker id of the broker that shuts down."""
    broker_epoch: int64 = field(since=2, default=-1, ignorable=True)
    """The epoch of the broker: the czxid of its registration (KIP-380, Kafka 2.2); -1 for any. Error 77 if it has
    registered again since."""


class ControlledShutdownResponse(Message, api_key=7, versions="0-3", flexible="3+"):
    """The leaderships that could not be moved."""

    error_code: int16
    """0; 8 unknown broker; 11 the controller has changed; 77 stale broker epoch."""
    remaining_partitions: array[RemainingPartition]
    """The partitions that the broker still leads; the broker retries until there are none."""


class RemainingPartition(Struct, key=("topic_name", "partition_index")):
    """A partition without another eligible leader."""

    topic_name: string
    """The name of the topic that the partition belongs to."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
