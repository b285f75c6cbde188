"""KRaftVersionRecord: the level of the feature `kraft.version` in the KRaft metadata log (KIP-853, Kafka 3.9).

It is the value of control records of type 5. The feature level is part of the log, because voters need it before they
can read other records.
"""

from __future__ import annotations

from kwire.declare import Message, field, int16


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    """A finalized level of `kraft.version`."""

    version: int16
    """The version of this value, repeated as its first field."""
    kraft_version: int16 = field(name="kRaftVersion")
    """The level: 0 voters from the configuration; 1 voters from the log (VotersRecord)."""
