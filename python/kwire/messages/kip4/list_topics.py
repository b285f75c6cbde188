"""ListTopics: the names of all topics (KAFKA-1694 as version 0, KIP-4 as version 1).

Later drafts dropped it: TopicMetadata without names tells the same. The drafts name no key, 1002 is decision D3.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, maybe, string


class ListTopicsRequest(Request["ListTopicsResponse"], api_key=1002, versions="0-1", dialect="kip4"):
    """Asks the controller for the names of all topics; has no arguments."""


class ListTopicsResponse(Message, api_key=1002, versions="0-1", dialect="kip4"):
    """The names, or why they cannot be had."""

    error_code: int16
    """0, 22 from a broker that is not the controller, or 21 for all else that went wrong."""
    error_description: maybe[string] = None
    """Why, for a person; None on success."""
    topics_list: maybe[TopicsList] = None
    """The names, behind one control byte for all of them; None on error."""


class TopicsList(Struct):
    """The names: in two lists in version 0, in one since."""

    topics_marked_for_deletion: array[string] = field(until=0, default=())
    """Topics whose deletion was asked for and has not ended."""
    alive_topics: array[string] = field(until=0, default=())
    """All other topics."""
    topic_names: array[string] = field(since=1, default=())
    """Topics that are not marked for deletion; who needs those as well asks version 0 (decision D6)."""
