"""ListTopics: the names of all topics (version 0 of KAFKA-1694, version 1 of KIP-4).

Later drafts dropped it: TopicMetadata without names returns the same. The drafts do not define an API key; kwire uses
1002.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, maybe, string


class ListTopicsRequest(Request["ListTopicsResponse"], api_key=1002, versions="0-1", dialect="kip4"):
    """Requests the names of all topics."""


class ListTopicsResponse(Message, api_key=1002, versions="0-1", dialect="kip4"):
    """The names of all topics."""

    error_code: int16
    """0; 22 if the broker is not the controller; 21 for every other error."""
    error_description: maybe[string] = None
    """The error message; None on success."""
    topics_list: maybe[TopicsList] = None
    """The names, with one control byte for all of them; None on error."""


class TopicsList(Struct):
    """Topic names, in two lists in version 0 and in one since."""

    topics_marked_for_deletion: array[string] = field(until=0, default=())
    """The topics that are being deleted."""
    alive_topics: array[string] = field(until=0, default=())
    """All other topics."""
    topic_names: array[string] = field(since=1, default=())
    """The topics that are not being deleted; version 0 also lists the others."""
