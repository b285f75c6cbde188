"""CreateTopic, one topic a message: version 0 is KAFKA-1694's draft, version 1 the first of KIP-4.

Version 2 carries batches and has a layout of its own: ``create_topic_v2``.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, field, int16, int32, maybe, string
from kwire.messages.kip4.structures import ConfigEntry


class CreateTopicRequest(Request["CreateTopicResponse"], api_key=13, versions="0-1", dialect="kip4"):
    """Asks the controller for a new topic: by numbers, or by a full assignment; with both the assignment wins."""

    topic_name: string
    """1 to 249 of the characters ``a-zA-Z0-9._-``, not ``.`` or ``..``; ``.`` and ``_`` count as one."""
    partitions: maybe[int32] = None
    """How many partitions; None when ``replica_assignment`` says it."""
    replicas: maybe[int32] = None
    """How many copies of each partition; None when ``replica_assignment`` says it."""
    replica_assignment: maybe[string] = None
    """Broker ids as the topic tool writes them, ``1:2,2:1``: colons within a partition, commas between them.

    The position is the partition's id, from 0 (decision D26). None: the controller chooses.
    """
    configs: array[string] = field(until=0, default=())
    """Settings of the topic as ``key=value``; empty means the defaults."""
    config_entries: array[ConfigEntry] = field(since=1, default=())
    """Settings of the topic; empty means the defaults. It took the place of ``configs``."""


class CreateTopicResponse(Message, api_key=13, versions="0-1", dialect="kip4"):
    """Whether the topic is being created."""

    error_code: int16
    """0, 22 from a broker that is not the controller, or 21 for all else that went wrong."""
    error_description: maybe[string] = None
    """Why, for a person; None on success."""
