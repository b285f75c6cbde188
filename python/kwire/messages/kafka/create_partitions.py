"""CreatePartitions (key 37): increase the number of partitions of topics (KIP-195, Kafka 1.0).

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
    3  error 89 if the controller mutation quota is exceeded (KIP-599)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string


class CreatePartitionsRequest(Request["CreatePartitionsResponse"], api_key=37, versions="0-3", flexible="2+"):
    """Adds partitions to topics, each topic on its own. Keys then map to other partitions than before."""

    topics: array[CreatePartitionsTopic]
    """The topics to add partitions to, each at most once."""
    timeout_ms: int32
    """The time in milliseconds to wait for the new partitions; topics that are not ready return error 7 but may become
    ready later."""
    validate_only: bool
    """True to validate the request without creating partitions."""


class CreatePartitionsTopic(Struct):
    """A topic and its new partition count."""

    name: string
    """The name of an existing topic to add partitions to."""
    count: int32
    """The new total number of partitions, greater than the current one."""
    assignments: nullable[array[CreatePartitionsAssignment]]
    """The replicas of each new partition, by ascending index; None to let the controller assign them."""


class CreatePartitionsAssignment(Struct):
    """The replicas of a new partition."""

    broker_ids: array[int32]
    """The brokers of the replicas, the preferred leader first; as many as in the existing partitions."""


class CreatePartitionsResponse(Message, api_key=37, versions="0-3", flexible="2+"):
    """The result for each topic."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    results: array[CreatePartitionsTopicResult]
    """The result for each topic, in no particular order."""


class CreatePartitionsTopicResult(Struct):
    """The result for one topic. Either all of its partitions are created or none."""

    name: string
    """The name of the topic, repeated from the request."""
    error_code: int16
    """0; 3 unknown topic; 7 timed out; 37 not more than now; 39 invalid brokers; 41 not the controller; 60 being
    reassigned."""
    error_message: nullable[string] = None
    """The error message; None if there is nothing to add to the error code."""
