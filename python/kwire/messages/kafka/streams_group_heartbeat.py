"""StreamsGroupHeartbeat (key 88): membership and tasks in groups of the Kafka Streams protocol (KIP-1071, Kafka 4.1).

The coordinator of the group knows the topology of the application and assigns its tasks. Fields that have not changed
since the last request can be left out.

Versions:
    1  topology descriptions (KIP-1331); status 6; a recovery lag of 64 bits
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, nullable, string, uint16


class StreamsGroupHeartbeatRequest(Request["StreamsGroupHeartbeatResponse"], api_key=88, versions="0-1", flexible="0+"):
    """Joins, reports the state of a member, or leaves."""

    group_id: string
    """The group (`application.id`) that the member belongs to."""
    member_id: string
    """The member id, a random uuid that the client keeps for its lifetime."""
    member_epoch: int32
    """The epoch that the member has reached; 0 to join, -1 to leave, -2 if a static member leaves to return later."""
    endpoint_information_epoch: int32
    """The epoch of the endpoints that the member knows; the response has them if there are newer ones."""
    instance_id: nullable[string] = None
    """The static member id (`group.instance.id`, KIP-345); None for a dynamic member, or if unchanged."""
    rack_id: nullable[string] = None
    """The rack of the client (`client.rack`); None if not configured or unchanged."""
    rebalance_timeout_ms: int32 = -1
    """The time in milliseconds that the member has to give up tasks (`max.poll.interval.ms`); -1 if unchanged."""
    topology: nullable[Topology] = None
    """The topology of the application, sent when joining; None otherwise."""
    active_tasks: nullable[array[TaskIds]] = None
    """The active tasks that the member runs; None if unchanged."""
    standby_tasks: nullable[array[TaskIds]] = None
    """The standby tasks that the member runs, which keep copies of state; None if unchanged."""
    warmup_tasks: nullable[array[TaskIds]] = None
    """The warm-up tasks that the member runs, which restore state before they become active; None if unchanged."""
    process_id: nullable[string] = None
    """The id of the process, which several members can share; None if unchanged."""
    user_endpoint: nullable[Endpoint] = None
    """The address for interactive queries (`application.server`); None if not configured or unchanged."""
    client_tags: nullable[array[KeyValue]] = None
    """The tags for rack-aware assignment (`client.tag.*`); None if unchanged."""
    task_offsets: nullable[array[TaskOffset]] = None
    """The changelog offsets that the tasks have restored, summed up for each task; None if unchanged."""
    task_end_offsets: nullable[array[TaskOffset]] = None
    """The end offsets of the changelogs, summed up for each task; None if unchanged."""
    shutdown_application: bool = False
    """True if all clients of the application must shut down."""


class Topology(Struct):
    """The topology of an application."""

    epoch: int32
    """The epoch of the topology, which increases when it changes; error 131 or 132 if it does not fit the group's."""
    subtopologies: array[Subtopology]
    """The subtopologies, which do not share topics or state."""


class Subtopology(Struct):
    """A part of the topology; each task runs one copy for a partition."""

    subtopology_id: string
    """The id of the subtopology, the same in every client."""
    source_topics: array[string]
    """The names of the topics that it reads, without repartition topics."""
    source_topic_regex: array[string]
    """The regular expressions of topics that it reads."""
    state_changelog_topics: array[TopicInfo]
    """The changelog topics of its state stores, created by the coordinator's broker."""
    repartition_sink_topics: array[string]
    """The names of the repartition topics that it writes."""
    repartition_source_topics: array[TopicInfo]
    """The repartition topics that it reads, created by the coordinator's broker."""
    copartition_groups: array[CopartitionGroup]
    """The sets of its topics that need the same number of partitions."""


class TopicInfo(Struct):
    """An internal topic."""

    name: string
    """The name of the topic, which begins with the application id."""
    partitions: int32
    """The number of partitions; 0 to derive it from other topics, as for all changelog topics."""
    replication_factor: int16
    """The replication factor; 0 for the default of the brokers."""
    topic_configs: array[KeyValue]
    """The topic configs to create the topic with."""


class KeyValue(Struct):
    """A pair of strings."""

    key: string
    """The name of a topic config or a client tag."""
    value: string
    """The value of that config or tag."""


class CopartitionGroup(Struct):
    """Topics that need the same number of partitions."""

    source_topics: array[int16]
    """Positions in `source_topics` of the subtopology."""
    source_topic_regex: array[int16]
    """Positions in `source_topic_regex` of the subtopology."""
    repartition_source_topics: array[int16]
    """Positions in `repartition_source_topics` of the subtopology."""


class TaskIds(Struct):
    """Tasks of a subtopology."""

    subtopology_id: string
    """The id of the subtopology that each of the tasks runs, as in the topology."""
    partitions: array[int32]
    """The partition indexes of the input topics, one for each task."""


class Endpoint(Struct):
    """An address for interactive queries."""

    host: string
    """The host name of the application instance."""
    port: uint16
    """The TCP port, as an unsigned number."""


class TaskOffset(Struct):
    """An offset of a task."""

    subtopology_id: string
    """The id of the subtopology that the task runs, as in the topology."""
    partition: int32
    """The partition index of the input topics that the task reads."""
    offset: int64
    """The sum of the offsets in the changelog partitions of the task."""


class StreamsGroupHeartbeatResponse(Message, api_key=88, versions="0-1", flexible="0+"):
    """The epoch and, if they have changed, the tasks of the member."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 14, 15, or 16 find the coordinator again; 25 unknown member; 30 not authorized; 42 invalid request; 69 group
    not found; 81 group full; 110 fenced epoch, join again; 111 static member id in use; 130 to 132 invalid topology."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    member_id: string
    """The member id, as chosen by the client in its request."""
    member_epoch: int32
    """The new epoch of the member; -1 or -2 after it left."""
    heartbeat_interval_ms: int32
    """The time in milliseconds until the next heartbeat (`group.streams.heartbeat.interval.ms`)."""
    acceptable_recovery_lag_legacy: int32 = field(until=0, default=0)
    """The number of offsets by which a caught-up task can be behind, in version 0; see `acceptable_recovery_lag`."""
    task_offset_interval_ms: int32
    """The time in milliseconds between two reports of task offsets."""
    acceptable_recovery_lag: int64 = field(since=1, default=-1, ignorable=True)
    """The number of offsets by which a task can be behind and still count as caught up, so that it can become active;
    -1 if the broker has no such config."""
    status: nullable[array[Status]]
    """Problems of the group, one entry each; None if unchanged."""
    active_tasks: nullable[array[TaskIds]] = None
    """The active tasks for the member; None if unchanged."""
    standby_tasks: nullable[array[TaskIds]] = None
    """The standby tasks for the member; None if unchanged."""
    warmup_tasks: nullable[array[TaskIds]] = None
    """The warm-up tasks for the member; None if unchanged."""
    topology_description_required: bool = field(since=1, default=False)
    """True if the client must send StreamsGroupTopologyDescriptionUpdate (KIP-1331)."""
    endpoint_information_epoch: int32
    """The epoch of `partitions_by_user_endpoint`, to be repeated in the next request."""
    partitions_by_user_endpoint: nullable[array[EndpointToPartitions]] = None
    """Partitions by the instance that serves them, for interactive queries; None if unchanged. Members that share an
    endpoint have one entry each."""


class Status(Struct):
    """A problem of the group."""

    status_code: int8
    """The problem: 0 stale topology; 1 missing source topics; 2 source topics with different numbers of partitions; 3
    missing internal topics; 4 application shutdown requested; 5 assignment delayed; 6 missing client tags (version
    1)."""
    status_detail: string
    """A description of the problem for people."""


class EndpointToPartitions(Struct):
    """The partitions of an instance."""

    user_endpoint: Endpoint
    """The address of the instance for interactive queries."""
    active_partitions: array[TopicPartition]
    """The input partitions of its active tasks, by topic."""
    standby_partitions: array[TopicPartition]
    """The input partitions of its standby and warm-up tasks, by topic."""


class TopicPartition(Struct):
    """Partitions of a topic."""

    topic: string
    """The name of the topic, which can be a repartition topic."""
    partitions: array[int32]
    """The partition indexes within the topic."""
