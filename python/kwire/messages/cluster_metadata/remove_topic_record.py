"""RemoveTopicRecord: the deletion of a topic."""

from __future__ import annotations

from kwire.declare import Message, uuid


class RemoveTopicRecord(Message, record_type=9, versions="0", flexible="0+"):
    """A topic is deleted together with its partitions."""

    topic_id: uuid
    """The unique id (KIP-516) given at creation."""
