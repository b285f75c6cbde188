"""DeleteTopics (key 20): removes topics and all their records (KIP-4, Kafka 0.10.1).

Versions:
    1  throttle time
    2  throttled clients are answered first, and have to wait by themselves (KIP-219)
    3  error 73 where deletion is switched off
    4  flexible
    5  error messages; error 89 when the quota for deletions is spent (KIP-599, Kafka 2.7)
    6  by id, which cannot hit a later topic of the same name (KIP-516, Kafka 2.8)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uuid, zero


class DeleteTopicsRequest(Request["DeleteTopicsResponse"], api_key=20, versions="0-6", flexible="4+"):
    """Deletes some topics, each for itself. NO_ERROR means marked for deletion: the data goes a little later."""

    topic_names: array[string] = field(until=5, default=(), ignorable=True)
    """The topics by name; from version 6 on ``topics`` takes their place."""
    topics: array[DeleteTopicState] = field(since=6, default=())
    """The topics by name or by id; naming one twice is an error for it."""
    timeout_ms: int32
    """Milliseconds to wait until the controller has marked the topics; what is not marked by then answers 7."""


class DeleteTopicState(Struct):
    """One topic to delete: by name or by id, never by both."""

    name: nullable[string] = None
    """The name of the topic; None when it is meant by id."""
    topic_id: uuid
    """The id of the topic; zero when it is meant by name."""


class DeleteTopicsResponse(Message, api_key=20, versions="0-6", flexible="4+"):
    """What became of each topic."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 2 the client itself has to wait."""
    responses: array[DeletableTopicResult]
    """One entry a topic, in no fixed order."""


class DeletableTopicResult(Struct):
    """Whether one topic was marked for deletion."""

    name: nullable[string] = field(nullable_since=6)
    """What it is called; None when it was meant by an id that is unknown, or that the caller may not see."""
    topic_id: uuid = field(since=6, default=zero, ignorable=True)
    """Its id; zero when it was meant by a name that is unknown, or in a cluster without ids."""
    error_code: int16
    """0, 3 no such topic, 7 timed out, 29 not permitted, 41 not the controller, 73 switched off, 100 no such id."""
    error_message: nullable[string] = field(since=5, default=None, ignorable=True)
    """What exactly was wrong, in words; None when there is nothing to add to the code."""
