"""CreateTopics (key 19): create topics with partitions, replicas, and configs (KIP-4, Kafka 0.10.1).

The controller handles the request. Other brokers of a ZooKeeper cluster return error 41; KRaft brokers forward it.

Versions:
    1  validate only; error messages
    2  throttle time
    3  throttled responses are sent at once, and the client must wait (KIP-219)
    4  default partition count and replication factor (KIP-464, Kafka 2.4)
    5  flexible; configs of the created topics (KIP-525)
    6  error 89 if the controller mutation quota is exceeded (KIP-599)
    7  topic ids (KIP-516, Kafka 2.8)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string, uuid, zero


class CreateTopicsRequest(Request["CreateTopicsResponse"], api_key=19, versions="0-7", flexible="5+"):
    """Creates topics, each on its own."""

    topics: array[CreatableTopic]
    """The topics to create; a name that is listed twice is an error (42) for that topic."""
    timeout_ms: int32 = 60000
    """The time in milliseconds to wait for the topics; topics that are not ready return error 7 but may become ready
    later."""
    validate_only: bool = field(since=1, default=False)
    """True to validate the request without creating topics."""


class CreatableTopic(Struct):
    """A topic to create, with either partition and replica counts or the replicas of every partition."""

    name: string
    """The topic name: 1 to 249 of the characters `a-zA-Z0-9._-`. Names that differ only in `.` and `_` collide."""
    num_partitions: int32
    """The number of partitions; -1 with assignments and, since version 4, for the default `num.partitions`."""
    replication_factor: int16
    """The number of replicas; -1 with assignments and, since version 4, for `default.replication.factor`."""
    assignments: array[CreatableReplicaAssignment]
    """The replicas of each partition; empty to let the controller assign them."""
    configs: array[CreatableTopicConfig]
    """The configs that differ from the defaults of the broker."""


class CreatableReplicaAssignment(Struct):
    """The replicas of a partition."""

    partition_index: int32
    """The partition index; the indexes of a topic must be 0 to n-1."""
    broker_ids: array[int32]
    """The brokers of the replicas, the preferred leader first; the same number for all partitions."""


class CreatableTopicConfig(Struct):
    """A config of the new topic."""

    name: string
    """The config key, for example `retention.ms`."""
    value: nullable[string] = field(sensitive="name")
    """The value as text. Brokers reject None."""


class CreateTopicsResponse(Message, api_key=19, versions="0-7", flexible="5+"):
    """The result for each topic."""

    throttle_time_ms: int32 = field(since=2, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 3, the client
    must wait instead of the broker."""
    topics: array[CreatableTopicResult]
    """The result for each topic, in no particular order."""


class CreatableTopicResult(Struct):
    """The result for one topic. Ids, counts, and configs are set only on success."""

    name: string
    """The topic name, repeated from the request."""
    topic_id: uuid = field(since=7, default=zero, ignorable=True)
    """The id of the new topic; zero if it was not created."""
    error_code: int16
    """0; 7 timed out; 17 invalid name; 36 already exists; invalid 37 partition count, 38 replication factor, 39
    assignment, 40 config; 41 not the controller."""
    error_message: nullable[string] = field(since=1, default="", ignorable=True)
    """The error message; None or empty if there is nothing to add to the error code."""
    num_partitions: int32 = field(since=5, default=-1, ignorable=True)
    """The number of partitions; -1 on error or if the client is not allowed to describe the configs."""
    replication_factor: int16 = field(since=5, default=-1, ignorable=True)
    """The number of replicas of each partition; -1 in the same cases as `num_partitions`."""
    configs: nullable[array[CreatableTopicConfigs]] = field(since=5, default=(), ignorable=True)
    """All effective configs, including defaults; empty on error, None if the client is not allowed to describe them."""
    topic_config_error_code: int16 = field(since=5, tag=0, default=0, ignorable=True)
    """The error why the details of a created topic are missing: 29 if the client cannot describe its configs,
    otherwise 0."""


class CreatableTopicConfigs(Struct):
    """An effective config of the new topic."""

    name: string
    """The config key, for example `retention.ms`."""
    value: nullable[string] = field(sensitive="name")
    """The value as text; None if it is sensitive or not set."""
    read_only: bool
    """True if the config cannot be changed."""
    config_source: int8 = -1
    """The source: 1 topic, 2 broker, 3 all brokers, 4 the broker's static configuration, 5 Kafka's default, -1
    unknown."""
    is_sensitive: bool
    """True if the config is a secret, such as a password, without its value."""
