"""CreatePartitions (key 37): makes topics wider; a topic never gets narrower (KIP-195, Kafka 1.0).

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
    3  error 89 when the quota for creations is spent (KIP-599)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string


class CreatePartitionsRequest(Request["CreatePartitionsResponse"], api_key=37, versions="0-3", flexible="2+"):
    """Adds partitions to some topics, each for itself. Records with keys then hash to other partitions than before."""

    topics: array[CreatePartitionsTopic]
    """The topics to widen, each at most once."""
    timeout_ms: int32
    """Milliseconds to wait until the new partitions exist; what is not ready by then answers 7, yet may appear."""
    validate_only: bool
    """Whether only to check: the answer is as if the partitions were made, but none is."""


class CreatePartitionsTopic(Struct):
    """One topic and how wide it shall be."""

    name: string
    """An existing topic that is to get more partitions."""
    count: int32
    """How many partitions it shall have in all, the present ones included; must be more than now."""
    assignments: nullable[array[CreatePartitionsAssignment]]
    """Where the new ones shall live, one entry each, lowest number first; None lets the controller spread them."""


class CreatePartitionsAssignment(Struct):
    """Where one new partition shall live."""

    broker_ids: array[int32]
    """The brokers to hold it, as many as the topic's other partitions have; the first is the preferred leader."""


class CreatePartitionsResponse(Message, api_key=37, versions="0-3", flexible="2+"):
    """What became of each topic."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    results: array[CreatePartitionsTopicResult]
    """One entry a topic, in no fixed order."""


class CreatePartitionsTopicResult(Struct):
    """Whether one topic was widened: to the full count, or not at all."""

    name: string
    """The topic this entry is about."""
    error_code: int16
    """0, 3 no such topic, 7 timed out, 37 not more than now, 39 bad brokers, 41 not the controller, 60 being moved."""
    error_message: nullable[string] = None
    """What exactly was wrong, in words; None when there is nothing to add to the code."""
