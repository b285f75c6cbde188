"""CreateTopic for one topic: version 0 of KAFKA-1694 and version 1 of KIP-4.

Version 2 creates several topics and has its own layout: `create_topic_v2`.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, field, int16, int32, maybe, string
from kwire.messages.kip4.structures import ConfigEntry


class CreateTopicRequest(Request["CreateTopicResponse"], api_key=13, versions="0-1", dialect="kip4"):
    """Creates a topic with given counts or a full assignment. With both, the assignment wins."""

    topic_name: string
    """The name of the topic: 1 to 249 of the characters `a-zA-Z0-9._-`, except `.` and `..`. Names that differ only in
    `.` and `_` collide."""
    partitions: maybe[int32] = None
    """The number of partitions; None with `replica_assignment`."""
    replicas: maybe[int32] = None
    """The number of replicas of each partition; None with `replica_assignment`."""
    replica_assignment: maybe[string] = None
    """The broker ids of each partition, such as `1:2,2:1`: colons separate the replicas of a partition, commas the
    partitions, which are in index order from 0. None to let the controller assign them."""
    configs: array[string] = field(until=0, default=())
    """The configs of the topic as `key=value`; empty for the defaults."""
    config_entries: array[ConfigEntry] = field(since=1, default=())
    """The configs of the topic; empty for the defaults. Replaces `configs`."""


class CreateTopicResponse(Message, api_key=13, versions="0-1", dialect="kip4"):
    """The result of the request. On success the topic is being created."""

    error_code: int16
    """0; 22 if the broker is not the controller; 21 for every other error."""
    error_description: maybe[string] = None
    """The error message; None on success."""
