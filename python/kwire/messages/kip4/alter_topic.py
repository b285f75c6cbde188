"""AlterTopic, one topic a message: version 0 is KAFKA-1694's draft, version 1 the first of KIP-4.

Version 2 carries batches and has a layout of its own: ``alter_topic_v2``.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, field, int16, int32, maybe, string
from kwire.messages.kip4.structures import ConfigEntry


class AlterTopicRequest(Request["AlterTopicResponse"], api_key=14, versions="0-1", dialect="kip4"):
    """Asks the controller to grow a topic, to move its replicas, to change its settings, or several of these.

    The header line of the drafts is what holds: version 0 has a replica assignment and no number of replicas,
    although its list of types names one (decision D5).
    """

    topic_name: string
    """The topic to change; one that does not exist is error 21."""
    partitions: maybe[int32] = None
    """Number of partitions wanted, never fewer than now; with an assignment it must equal that one's length.

    None leaves it as it is.
    """
    replica_assignment: maybe[string] = None
    """Broker ids of all partitions, existing ones included, such as ``1:2,2:1`` (decision D26).

    Colons stand within a partition, commas between them; the position is the partition's id, from 0. None leaves
    the replicas where they are.
    """
    added_configs: array[string] = field(until=0, default=())
    """Settings to set or overwrite, as ``key=value``."""
    added_config_entries: array[ConfigEntry] = field(since=1, default=())
    """Settings to set or overwrite. It took the place of ``added_configs``."""
    deleted_configs: array[string] = ()
    """Keys of the settings that return to their defaults."""


class AlterTopicResponse(Message, api_key=14, versions="0-1", dialect="kip4"):
    """Whether the change was started."""

    error_code: int16
    """0, 22 from a broker that is not the controller, or 21 for all else that went wrong."""
    error_description: maybe[string] = None
    """Why, for a person; None on success."""
