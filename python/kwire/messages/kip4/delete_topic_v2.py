"""DeleteTopic version 2, for several topics (batched draft of KIP-4)."""

from __future__ import annotations

from kwire.declare import Message, Request, array, string
from kwire.messages.kip4.structures import TopicResult


class DeleteTopicRequest_V2(Request["DeleteTopicResponse_V2"], api_key=15, versions="2", dialect="kip4"):
    """Deletes topics and all of their records."""

    topic_names: array[string]
    """The names of the topics; a duplicate name fails with error 1012 and the topic is kept."""


class DeleteTopicResponse_V2(Message, api_key=15, versions="2", dialect="kip4"):
    """The result for each topic.

    A topic is deleted once no broker has it in its metadata.
    """

    topics: array[TopicResult]
    """The result for each distinct topic of the request; 0 if it was already marked for deletion."""
