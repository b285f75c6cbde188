"""DeleteTopic, one topic a message: version 0 is KAFKA-1694's draft, version 1 the first of KIP-4, both alike.

Version 2 carries batches and has a layout of its own: ``delete_topic_v2``.
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, maybe, string


class DeleteTopicRequest(Request["DeleteTopicResponse"], api_key=15, versions="0-1", dialect="kip4"):
    """Asks the controller to delete a topic with all that is in it."""

    topic_name: string
    """The topic to delete; one that waits for its deletion already is a success."""


class DeleteTopicResponse(Message, api_key=15, versions="0-1", dialect="kip4"):
    """Whether the topic is marked for deletion."""

    error_code: int16
    """0, 22 from a broker that is not the controller, or 21 for all else that went wrong."""
    error_description: maybe[string] = None
    """Why, for a person; None on success."""
