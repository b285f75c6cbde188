"""ControlRecordTypeSchema: the key of a control record (KIP-98, Kafka 0.11).

It is preceded by its version as an int16. The value is one of EndTxnMarker, LeaderChangeMessage, SnapshotHeaderRecord,
SnapshotFooterRecord, KRaftVersionRecord, and VotersRecord.
"""

from __future__ import annotations

from kwire.declare import Message, int16


class ControlRecordTypeSchema(Message, versions="0"):
    """The kind of a control record."""

    type: int16
    """0 abort; 1 commit; 2 leader change; 3 snapshot header; 4 snapshot footer; 5 KRaft version; 6 voters."""
