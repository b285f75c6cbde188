"""StreamsGroupDescribe (key 89): the state of groups of the Kafka Streams protocol (KIP-1071, Kafka 4.1).

The coordinator of each group responds.

Versions:
    1  topology descriptions (KIP-1331); assignors (KIP-1357)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, nullable, string, uint16


class StreamsGroupDescribeRequest(Request["StreamsGroupDescribeResponse"], api_key=89, versions="0-1", flexible="0+"):
    """Describes groups of a coordinator."""

    group_ids: array[string]
    """The groups to describe, all coordinated by the receiving broker."""
    include_authorized_operations: bool
    """True to include the operations that the client is authorized for on each group."""
    include_topology_description: bool = field(since=1, default=False)
    """True to include the topology with all processors (KIP-1331)."""


class StreamsGroupDescribeResponse(Message, api_key=89, versions="0-1", flexible="0+"):
    """The described groups."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    groups: array[DescribedGroup]
    """The described groups, one for each group of the request."""


class DescribedGroup(Struct):
    """A group, its topology, and its members."""

    error_code: int16
    """0; 14 or 15 retry; 16 not the coordinator; 29 or 30 not authorized; 69 group not found."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    group_id: string
    """The group id, which is the `application.id` of its members."""
    group_state: string
    """`Empty`, `NotReady`, `Assigning`, `Reconciling`, `Stable`, or `Dead`; empty on error."""
    group_epoch: int32
    """The epoch of the group, which increases whenever members, topology, or partitions change."""
    assignment_epoch: int32
    """The group epoch of the target assignment; lower than `group_epoch` while `Assigning`."""
    topology: nullable[Topology] = None
    """The topology that the group uses; None on error, or before it is known."""
    members: array[Member]
    """The members of the group; empty on error."""
    authorized_operations: int32 = -2147483648
    """The authorized operations as a bit field of ACL operations; -2147483648 if not requested."""
    topology_description: nullable[TopologyDescription] = field(since=1, default=None)
    """The topology with all processors; None unless `topology_description_status` is 3."""
    topology_description_status: int8 = field(since=1, default=0)
    """0 not requested; 1 none stored; 2 an error occurred, see the broker's log; 3 available (KIP-1331)."""
    assignor_name: nullable[string] = field(since=1, default=None, ignorable=True)
    """The assignor of the next assignment (KIP-1357); None if unknown."""


class Topology(Struct):
    """The topology as the coordinator has configured it."""

    epoch: int32
    """The epoch of the topology, which increases when it changes."""
    subtopologies: nullable[array[Subtopology]] = None
    """The subtopologies with their final numbers of partitions; None if they cannot be configured, for example because
    source topics are missing."""


class Subtopology(Struct):
    """A part of the topology; each task runs one copy for a partition."""

    subtopology_id: string
    """The id of the subtopology, as sent by the clients."""
    source_topics: array[string]
    """The names of the topics that it reads, without repartition topics."""
    repartition_sink_topics: array[string]
    """The names of the repartition topics that it writes."""
    state_changelog_topics: array[TopicInfo]
    """The internal topics with the changes of its state stores."""
    repartition_source_topics: array[TopicInfo]
    """The repartition topics that it reads, with their configs."""


class TopicInfo(Struct):
    """An internal topic."""

    name: string
    """The name of the topic, which begins with the application id."""
    partitions: int32
    """The number of partitions of the topic; 0 if not fixed."""
    replication_factor: int16
    """The replication factor; 0 for the default of the brokers."""
    topic_configs: array[KeyValue]
    """The topic configs that the topic was created with."""


class KeyValue(Struct):
    """A pair of strings."""

    key: string
    """The name of a topic config or a client tag."""
    value: string
    """The value of that config or tag."""


class Member(Struct):
    """A member of the group."""

    member_id: string
    """The member id, a random uuid that the client chose."""
    member_epoch: int32
    """The assignment epoch that the member has reached; -2 while a static member is away."""
    instance_id: nullable[string] = None
    """The static member id (`group.instance.id`, KIP-345), or None for a dynamic member."""
    rack_id: nullable[string] = None
    """The rack of the client (`client.rack`), or None if not configured."""
    client_id: string
    """The client id from the request header (`client.id`)."""
    client_host: string
    """The address of the last connection, preceded by `/`."""
    topology_epoch: int32
    """The epoch of the topology that the member runs; lower than the group's while an application is upgraded."""
    process_id: string
    """The id of the process, which several members can share."""
    user_endpoint: nullable[Endpoint] = None
    """The address for interactive queries (`application.server`); None if not configured."""
    client_tags: array[KeyValue]
    """The tags for rack-aware assignment (`client.tag.*`)."""
    task_offsets: array[TaskOffset]
    """The changelog offsets that the tasks have restored, summed up for each task."""
    task_end_offsets: array[TaskOffset]
    """The end offsets of the changelogs, summed up for each task."""
    assignment: Assignment
    """The tasks that the member currently runs."""
    target_assignment: Assignment
    """The tasks that the member will run; equal to `assignment` once it has reconciled."""
    is_classic: bool
    """True if the member uses the classic protocol, while a group is upgraded."""


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


class Assignment(Struct):
    """A set of tasks."""

    active_tasks: array[TaskIds]
    """The tasks that process records."""
    standby_tasks: array[TaskIds]
    """The tasks that keep copies of state for a failover."""
    warmup_tasks: array[TaskIds]
    """The tasks that restore state before they become active."""


class TaskIds(Struct):
    """Tasks of a subtopology."""

    subtopology_id: string
    """The id of the subtopology that each of the tasks runs, as in the topology."""
    partitions: array[int32]
    """The partition indexes of the input topics, one for each task."""


class TopologyDescription(Struct):
    """A topology with all processors (KIP-1331)."""

    subtopologies: array[TopologyDescriptionSubtopology]
    """The subtopologies, which do not share topics or state."""
    global_stores: array[TopologyDescriptionGlobalStore]
    """The global stores, which every instance holds completely."""


class TopologyDescriptionSubtopology(Struct):
    """The processors of a subtopology."""

    subtopology_id: string
    """The id of the subtopology, unique within the topology."""
    nodes: array[TopologyDescriptionNode]
    """The sources, processors, and sinks in no particular order."""


class TopologyDescriptionNode(Struct):
    """A node of the processor graph."""

    name: string
    """The name of the node, for example `KSTREAM-SOURCE-0000000000`."""
    node_type: int8
    """1 source; 2 processor; 3 sink."""
    source_topics: array[string]
    """The topics that a source reads; empty for other nodes, and if they are determined at run time."""
    sink_topic: nullable[string] = None
    """The topic that a sink writes; None for other nodes, and if it is determined at run time."""
    stores: array[string]
    """The names of the state stores that a processor uses; empty for other nodes."""
    successors: array[string]
    """The names of the nodes that receive its records. Predecessors follow from them."""


class TopologyDescriptionGlobalStore(Struct):
    """A global store and how it is filled."""

    source: TopologyDescriptionNode
    """The node that reads the topic of the store."""
    processor: TopologyDescriptionNode
    """The node that writes the records into the store."""
