"""OffsetDelete (key 47): make a group forget how far it has read in some partitions (KIP-496, Kafka 2.4).

One of the few messages that never became flexible.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string


class OffsetDeleteRequest(Request["OffsetDeleteResponse"], api_key=47, versions="0"):
    """Asks the group's coordinator to drop offsets."""

    group_id: string
    """The group that shall forget."""
    topics: array[OffsetDeleteRequestTopic]
    """What to drop."""


class OffsetDeleteRequestTopic(Struct):
    """The partitions of one topic to forget."""

    name: string
    """The topic's name; no member of the group may be subscribed to it."""
    partitions: array[OffsetDeleteRequestPartition]
    """Those whose offsets go; an id without an offset does no harm."""


class OffsetDeleteRequestPartition(Struct):
    """One partition to forget."""

    partition_index: int32
    """Its id within the topic, from 0."""


class OffsetDeleteResponse(Message, api_key=47, versions="0"):
    """Which offsets are gone."""

    error_code: int16
    """0 the partitions decide; 16 not the coordinator; 68 the group has members that are no consumers; 69 no such
    group."""
    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    topics: array[OffsetDeleteResponseTopic]
    """Empty when the request failed whole."""


class OffsetDeleteResponseTopic(Struct):
    """The outcomes in one topic."""

    name: string
    """Which topic the outcomes below are about, echoed."""
    partitions: array[OffsetDeleteResponsePartition]
    """One entry a partition of the request."""


class OffsetDeleteResponsePartition(Struct):
    """Whether the offset of one partition is gone."""

    partition_index: int32
    """Its id within the topic, from 0."""
    error_code: int16
    """0; 3 no such partition; 86 the group is subscribed to the topic."""
