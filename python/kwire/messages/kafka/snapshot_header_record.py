"""SnapshotHeaderRecord: the first record of a snapshot of the KRaft metadata log (KIP-630, Kafka 2.8).

It is the value of control records of type 3.
"""

from __future__ import annotations

from kwire.declare import Message, int16, int64


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    """The start of a snapshot."""

    version: int16
    """The version of this value, repeated as its first field."""
    last_contained_log_timestamp: int64
    """The append time of the last record that the snapshot contains, in milliseconds since 1970."""
