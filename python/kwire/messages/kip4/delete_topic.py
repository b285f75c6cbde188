"""DeleteTopic for one topic: version 0 of KAFKA-1694 and version 1 of KIP-4, which have the same layout.

Version 2 deletes several topics and has its own layout: `delete_topic_v2`.
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, maybe, string


class DeleteTopicRequest(Request["DeleteTopicResponse"], api_key=15, versions="0-1", dialect="kip4"):
    """Deletes a topic and all of its records."""

    topic_name: string
    """The name of the topic to delete. A topic that is already marked for deletion is not an error."""


class DeleteTopicResponse(Message, api_key=15, versions="0-1", dialect="kip4"):
    """The result of the request. On success the topic is marked for deletion."""

    error_code: int16
    """0; 22 if the broker is not the controller; 21 for every other error."""
    error_description: maybe[string] = None
    """The error message; None on success."""
