"""ConnectAssignment: the connectors and tasks of a worker of Kafka Connect, in SyncGroup.

It is the assignment of groups with protocol type `connect`, preceded by its version as an int16: `decode_versioned`
reads both (ConnectProtocol.Assignment and ExtendedAssignment in Kafka).

Versions:
    1  revoked connectors and tasks, and a delay, for cooperative rebalances (KIP-415, Kafka 2.3)
    2  signed requests between workers (KIP-507, Kafka 2.4)
"""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int16, int32, int64, nullable, string


class ConnectAssignment(Message, versions="0-2"):
    """The assignment of a worker."""

    error: int16
    """0; 1 if the leader could not agree on a config offset, and workers read the config topic and join again."""
    leader: string
    """The member id of the worker that has made the assignment."""
    leader_url: string
    """The REST address of that worker."""
    config_offset: int64
    """The offset of the config topic that the assignment is based on."""
    assignment: nullable[array[ConnectorAssignment]] = field(nullable_since=1)
    """The assigned connectors and tasks; in cooperative rebalances, only the new ones. None if there are none."""
    revoked: nullable[array[ConnectorAssignment]] = field(since=1, default=None, ignorable=True)
    """The connectors and tasks that the worker must stop; None if there are none."""
    delay: int32 = field(since=1, default=0, ignorable=True)
    """Time in milliseconds until the worker joins again (`scheduled.rebalance.max.delay.ms`); 0 for no rebalance."""


class ConnectorAssignment(Struct, key="connector"):
    """The assigned parts of a connector."""

    connector: string
    """The name as in the REST API of the workers."""
    tasks: array[int32]
    """The numbers of tasks, and -1 for the connector itself."""
