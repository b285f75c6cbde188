"""DeleteTopic version 2: many topics a message (the batched draft of KIP-4)."""

from __future__ import annotations

from kwire.declare import Message, Request, array, string
from kwire.messages.kip4.structures import TopicResult


class DeleteTopicRequest_V2(Request["DeleteTopicResponse_V2"], api_key=15, versions="2", dialect="kip4"):
    """Asks the controller to delete topics with all that is in them."""

    topic_names: array[string]
    """The topics to delete; one that is named twice is answered with 1012 and stays."""


class DeleteTopicResponse_V2(Message, api_key=15, versions="2", dialect="kip4"):
    """Which topics are marked for deletion. They are gone once no broker's metadata has them."""

    topics: array[TopicResult]
    """One result a distinct topic of the request; a topic that was already marked is 0."""
