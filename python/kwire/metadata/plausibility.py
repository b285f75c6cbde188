"""Plausibility of empty responses.

A broker of Kafka 3.9 that has just started responds for about half a second as if the cluster had no topics, or no
brokers: its controller has not sent it any metadata yet. Such a response is *suspect*. It counts only if the broker
still reports it `CONFIRMED_AFTER` later, and has responded to every poll in between: a broker that did not respond may
have restarted once more.
"""

from __future__ import annotations

from datetime import timedelta

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from kwire.declare import Message

__all__ = ["CONFIRMED_AFTER", "EmptyResponseFilter"]

CONFIRMED_AFTER = timedelta(seconds=1)
"""Time for which a broker must report an empty cluster. Kafka 3.9.1 does so for up to 0.5 s after a start."""

_LISTS = {
    "MetadataResponse": ("topics", "brokers"),
    "TopicMetadataResponse": ("topics", "brokers"),
    "TopicMetadataResponse_V1": ("topics", "brokers"),
    "ClusterMetadataResponse": ("brokers",),
    "DescribeClusterResponse": ("brokers",),
}
"""The lists that must not be empty, by the name of the response."""


class EmptyResponseFilter:
    """Finds the suspect responses of one broker to one request.

    A response is suspect if it lists no topics, or no brokers, while the last plausible response listed some, or while
    there was no plausible response yet. Consecutive suspect responses are a series, which a poll without a response
    ends. A response that comes at least `CONFIRMED_AFTER` after the first one of its series is plausible.

    Other brokers are not consulted, since a task of the Spark pipeline sees only one broker.
    """

    __slots__ = ("_empty", "suspect_since")

    def __init__(self) -> None:
        self.suspect_since: datetime | None = None
        """Begin of the current series of suspect responses; None if there is none."""
        self._empty: tuple[str, ...] | None = None

    @property
    def agreed_is_empty(self) -> bool:
        """True if the last plausible response listed no topics or no brokers."""
        return bool(self._empty)

    def is_suspect(self, message: Message, at: datetime) -> bool:
        """Return whether a response is suspect, and remember it.

        Args:
            message: the response to a request for all topics (`requests_all_topics`).
            at: the time of the poll.
        """
        empty = tuple([name for name in _LISTS.get(type(message).__name__, ()) if not getattr(message, name)])
        if empty and (self._empty is None or not set(empty) <= set(self._empty)):
            since = self.suspect_since
            if since is None or at < since:
                self.suspect_since = at
                return True
            if at - since < CONFIRMED_AFTER:
                return True
        self.suspect_since = None
        self._empty = empty
        return False

    def end_series(self) -> None:
        """End the current series: a poll had no response."""
        self.suspect_since = None
