"""AlterTopic for one topic: version 0 of KAFKA-1694 and version 1 of KIP-4.

Version 2 changes several topics and has its own layout: `alter_topic_v2`.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, field, int16, int32, maybe, string
from kwire.messages.kip4.structures import ConfigEntry


class AlterTopicRequest(Request["AlterTopicResponse"], api_key=14, versions="0-1", dialect="kip4"):
    """Changes a topic: adds partitions, moves replicas, changes configs, or several of these.

    The layout follows the header line of the drafts: version 0 has a replica assignment and no number of replicas,
    although the type list of the draft names one.
    """

    topic_name: string
    """The name of the topic to change; error 21 if it does not exist."""
    partitions: maybe[int32] = None
    """The new number of partitions, not fewer than now; with an assignment it must equal its length. None to keep the
    number."""
    replica_assignment: maybe[string] = None
    """The broker ids of all partitions, existing ones included, such as `1:2,2:1`: colons separate the replicas of a
    partition, commas the partitions, which are in index order from 0. None to keep the replicas."""
    added_configs: array[string] = field(until=0, default=())
    """The configs to set, as `key=value`."""
    added_config_entries: array[ConfigEntry] = field(since=1, default=())
    """The configs to set; replaces `added_configs`."""
    deleted_configs: array[string] = ()
    """The keys of the configs to reset to their defaults."""


class AlterTopicResponse(Message, api_key=14, versions="0-1", dialect="kip4"):
    """The result of the request. On success the change has started."""

    error_code: int16
    """0; 22 if the broker is not the controller; 21 for every other error."""
    error_description: maybe[string] = None
    """The error message; None on success."""
