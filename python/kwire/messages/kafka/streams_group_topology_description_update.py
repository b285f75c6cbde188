"""StreamsGroupTopologyDescriptionUpdate (key 93): describe the topology of a Kafka Streams application (KIP-1331).

A client sends it after a heartbeat response has set `topology_description_required`. StreamsGroupDescribe returns the
description.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, nullable, string


class StreamsGroupTopologyDescriptionUpdateRequest(
    Request["StreamsGroupTopologyDescriptionUpdateResponse"], api_key=93, versions="0", flexible="0+"
):
    """Sends the topology with all processors."""

    group_id: string
    """The group (`application.id`) that runs the topology."""
    member_id: string
    """The member that sends the request; error 25 if it is not in the group."""
    topology_epoch: int32
    """The epoch of the described topology, as in the heartbeats."""
    topology_description: TopologyDescription
    """The topology with all processors of the application."""


class TopologyDescription(Struct):
    """A topology with all processors."""

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


class StreamsGroupTopologyDescriptionUpdateResponse(Message, api_key=93, versions="0", flexible="0+"):
    """Outcome of storing the description."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 14, 15, or 16 find the coordinator again; 25 unknown member; 30 not authorized; 35 not supported by the
    broker; 42 invalid request; 69 group not found; 135 the description could not be stored."""
    error_message: nullable[string] = None
    """The error message; None on success."""
