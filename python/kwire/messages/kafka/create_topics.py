"""CreateTopics (key 19): new topics with partitions, replicas and settings (KIP-4, Kafka 0.10.1).

The controller carries it out; a broker of a ZooKeeper cluster that is not the controller answers 41, KRaft's forward.

Versions:
    1  can be tried without effect; error messages
    2  throttle time
    3  throttled clients are answered first, and have to wait by themselves (KIP-219)
    4  partitions and replicas can be left to the cluster's defaults (KIP-464, Kafka 2.4)
    5  flexible; tells what was created (KIP-525)
    6  error 89 when the quota for creations is spent (KIP-599)
    7  topic ids (KIP-516, Kafka 2.8)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string, uuid, zero


class CreateTopicsRequest(Request["CreateTopicsResponse"], api_key=19, versions="0-7", flexible="5+"):
    """Creates topics, each for itself: some may succeed where others fail."""

    topics: array[CreatableTopic]
    """The topics to create; a name that stands here twice is an error (42) for that topic."""
    timeout_ms: int32 = 60000
    """Milliseconds to wait until the controller has finished; a topic not ready by then answers 7, yet may appear."""
    validate_only: bool = field(since=1, default=False)
    """Whether only to check: the answer is as if the topics were made, but none is."""


class CreatableTopic(Struct):
    """A topic as it shall be: either two numbers, or the replicas of every partition by hand."""

    name: string
    """1 to 249 of the characters ``a-zA-Z0-9._-``; ``.`` and ``_`` collide in metrics and count as one."""
    num_partitions: int32
    """How many partitions; -1 when assignments are given, and from version 4 on for the broker's ``num.partitions``."""
    replication_factor: int16
    """How many copies; -1 when assignments are given, from version 4 on for ``default.replication.factor``."""
    assignments: array[CreatableReplicaAssignment]
    """The brokers of each partition, chosen by hand; empty to let the controller spread them."""
    configs: array[CreatableTopicConfig]
    """Settings that shall differ from the broker's defaults."""


class CreatableReplicaAssignment(Struct):
    """Where one partition shall live."""

    partition_index: int32
    """Its number; those of a topic must be 0 to n-1 without gaps."""
    broker_ids: array[int32]
    """The brokers to hold it, equally many in all partitions; the first is the preferred leader."""


class CreatableTopicConfig(Struct):
    """One setting of the new topic."""

    name: string
    """Which setting, e.g. ``retention.ms``."""
    value: nullable[string]
    """Its value, always as text. Brokers refuse None."""


class CreateTopicsResponse(Message, api_key=19, versions="0-7", flexible="5+"):
    """What became of each topic."""

    throttle_time_ms: int32 = field(since=2, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 3 the client itself has to wait."""
    topics: array[CreatableTopicResult]
    """One entry a topic, in no fixed order."""


class CreatableTopicResult(Struct):
    """One topic: created, or why not. ``topic_id`` and what follows the message describe a creation that succeeded."""

    name: string
    """The topic this entry is about, as the request spelled it."""
    topic_id: uuid = field(since=7, default=zero, ignorable=True)
    """The id given to the new topic; zero when nothing was created."""
    error_code: int16
    """0, 7 timed out, 17 bad name, 36 exists; bad 37 count, 38 factor, 39 replicas, 40 setting; 41 wrong broker."""
    error_message: nullable[string] = field(since=1, default="", ignorable=True)
    """What exactly was wrong, in words; None or empty when there is nothing to add to the code."""
    num_partitions: int32 = field(since=5, default=-1, ignorable=True)
    """How many partitions it got; -1 on error, or when the caller may not see the topic's settings."""
    replication_factor: int16 = field(since=5, default=-1, ignorable=True)
    """How many copies of each partition; -1 in the same cases as ``num_partitions``."""
    configs: nullable[array[CreatableTopicConfigs]] = field(since=5, default=(), ignorable=True)
    """All settings in force, inherited ones too; empty on error, None when the caller may not see them."""
    topic_config_error_code: int16 = field(since=5, tag=0, default=0, ignorable=True)
    """Why details are missing of a topic that was made: 29 when the caller may not see its settings; 0 otherwise."""


class CreatableTopicConfigs(Struct):
    """A setting in force for the new topic."""

    name: string
    """Which setting, e.g. ``retention.ms``."""
    value: nullable[string]
    """Its value as text; None when it is secret, or has no value."""
    read_only: bool
    """Whether it cannot be changed while the topic exists."""
    config_source: int8 = -1
    """Who set it: 1 the topic, 2 one broker, 3 all brokers, 4 the broker's file, 5 Kafka's own default; -1 not told."""
    is_sensitive: bool
    """Whether it is a secret such as a password, and the value hence withheld."""
