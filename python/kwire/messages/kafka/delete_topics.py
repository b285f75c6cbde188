"""DeleteTopics (key 20): delete topics and all of their records (KIP-4, Kafka 0.10.1).

Versions:
    1  throttle time
    2  throttled responses are sent at once, and the client must wait (KIP-219)
    3  error 73 if topic deletion is disabled
    4  flexible
    5  error messages; error 89 if the controller mutation quota is exceeded (KIP-599, Kafka 2.7)
    6  deletion by topic id, which cannot delete a later topic of the same name (KIP-516, Kafka 2.8)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uuid, zero


class DeleteTopicsRequest(Request["DeleteTopicsResponse"], api_key=20, versions="0-6", flexible="4+"):
    """Deletes topics, each on its own. Success means marked for deletion; the data is deleted later."""

    topic_names: array[string] = field(until=5, default=(), ignorable=True)
    """The names of the topics, up to version 5; `topics` replaces them."""
    topics: array[DeleteTopicState] = field(since=6, default=())
    """The topics by name or id; a duplicate is an error for that topic."""
    timeout_ms: int32
    """The time in milliseconds to wait until the controller has marked the topics; error 7 afterwards."""


class DeleteTopicState(Struct):
    """A topic to delete, given by either name or id."""

    name: nullable[string] = None
    """The topic name; None if the id is given."""
    topic_id: uuid
    """The unique id of the topic; zero if the name is given."""


class DeleteTopicsResponse(Message, api_key=20, versions="0-6", flexible="4+"):
    """The result for each topic."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    responses: array[DeletableTopicResult]
    """The result for each topic, in no particular order."""


class DeletableTopicResult(Struct):
    """The result for one topic."""

    name: nullable[string] = field(nullable_since=6)
    """The topic name; None if the request gave an id that is unknown or not visible to the client."""
    topic_id: uuid = field(since=6, default=zero, ignorable=True)
    """The unique id of the topic; zero if the topic is unknown or the cluster has no topic ids."""
    error_code: int16
    """0; 3 unknown topic; 7 timed out; 29 not authorized; 41 not the controller; 73 deletion is disabled; 100 unknown
    id."""
    error_message: nullable[string] = field(since=5, default=None, ignorable=True)
    """The error message; None if there is nothing to add to the error code."""
