"""SnapshotFooterRecord: the last record of a snapshot of the KRaft metadata log (KIP-630, Kafka 2.8).

It is the value of control records of type 4. A snapshot without it is incomplete.
"""

from __future__ import annotations

from kwire.declare import Message, int16


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    """The end of a snapshot."""

    version: int16
    """The version of this value, repeated as its first field."""
