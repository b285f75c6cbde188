"""StreamsGroupTopology: the topology of a streams group (KIP-1071)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, int16, int32, string


class StreamsGroupTopologyKey(Message, record_type=23, versions="0"):
    """The group that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""


class StreamsGroupTopologyValue(Message, record_type=23, versions="0", flexible="0+"):
    """The subtopologies of the application and their topics."""

    epoch: int32
    """The version of the topology; increases with each change."""
    subtopologies: array[Subtopology]
    """The parts of the topology that can run independently."""


class Subtopology(Struct):
    """A part of the topology that shares no state with other parts."""

    subtopology_id: string
    """The name of the part of the topology, usually a number."""
    source_topics: array[string]
    """The topics that are read, without repartition topics."""
    source_topic_regex: array[string]
    """Patterns of topics that are read."""
    state_changelog_topics: array[TopicInfo]
    """The topics that back up state stores."""
    repartition_sink_topics: array[string]
    """The internal topics that are written for another part."""
    repartition_source_topics: array[TopicInfo]
    """The internal topics that another part writes."""
    copartition_groups: array[CopartitionGroup]
    """Sets of topics that must have equal numbers of partitions."""


class TopicInfo(Struct):
    """An internal topic of the application."""

    name: string
    """The name that clients of the cluster use."""
    partitions: int32
    """The number of partitions; 0 if it follows from other topics."""
    replication_factor: int16
    """The number of replicas; 0 for the default of the cluster."""
    topic_configs: array[TopicConfig]
    """The overridden settings of the topic."""


class TopicConfig(Struct):
    """A config of an internal topic."""

    key: string
    """The name of the setting."""
    value: string
    """The text that the configuration has."""


class CopartitionGroup(Struct):
    """Topics that must have equal numbers of partitions. Members are indexes into the arrays of the subtopology."""

    source_topics: array[int16]
    """Positions in the list above, from 0."""
    source_topic_regex: array[int16]
    """Positions in the list above, from 0."""
    repartition_source_topics: array[int16]
    """Positions in the list above, from 0."""
