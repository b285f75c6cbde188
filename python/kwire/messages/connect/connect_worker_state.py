"""ConnectWorkerState: the metadata of a worker of Kafka Connect in JoinGroup.

It is the metadata of groups with protocol type `connect`, preceded by its version as an int16: `decode_versioned` reads
both (ConnectProtocol.WorkerState and ExtendedWorkerState in Kafka).

Versions:
    0  protocol `default`: eager rebalances
    1  protocol `compatible`: the assignment that the worker owns, for cooperative rebalances (KIP-415, Kafka 2.3)
    2  protocol `sessioned`: signed requests between workers (KIP-507, Kafka 2.4)
"""

from __future__ import annotations

from kwire.declare import Message, field, int64, nullable, string


class ConnectWorkerState(Message, versions="0-2"):
    """The state of a worker that joins."""

    url: string
    """The REST address of the worker."""
    config_offset: int64
    """The offset of the last record of the config topic that the worker has read."""
    allocation: nullable[bytes] = field(since=1, default=None, ignorable=True)
    """ConnectAssignment after its version: what the worker owns; None if it owns nothing."""
