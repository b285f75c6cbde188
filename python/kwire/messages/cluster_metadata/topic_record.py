"""TopicRecord: the creation of a topic."""

from __future__ import annotations

from kwire.declare import Message, string, uuid


class TopicRecord(Message, record_type=2, versions="0", flexible="0+"):
    """A topic is created; a PartitionRecord follows for each of its partitions."""

    name: string
    """The name that clients use."""
    topic_id: uuid
    """The unique id (KIP-516), which a later topic of the same name does not share."""
