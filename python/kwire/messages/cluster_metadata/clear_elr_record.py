"""ClearElrRecord: the removal of eligible leader replicas (KIP-966, Kafka 4.0)."""

from __future__ import annotations

from kwire.declare import Message, string


class ClearElrRecord(Message, record_type=28, versions="0", flexible="0+"):
    """The eligible leader replicas of a topic or of all topics are removed."""

    topic_name: string
    """The affected topic; empty for all topics."""
