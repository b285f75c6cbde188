"""Track the responses of one broker to one request: what each of them changed, and whether it is suspect."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from kwire.decoder import Changes, Decoder, compare
from kwire.errors import DecodeError
from kwire.metadata.diff import is_same, topic_changes
from kwire.metadata.event_rules import metadata_events
from kwire.metadata.plausibility import EmptyResponseFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from kwire.declare import Message
    from kwire.metadata.events import MetadataEvent

__all__ = ["ResponseTracker", "TrackedResponse"]

M = TypeVar("M", bound="Message")


class TrackedResponse(NamedTuple, Generic[M]):
    """A response and how it differs from the ones before.

    Attributes:
        message: the decoded response.
        changes: differences from the last response.
        events: differences from the last plausible response; none if this one is suspect.
        same: True if it reports the same as the last response.
        suspect: see `kwire.metadata.plausibility`.
    """

    message: M
    changes: Changes
    events: tuple[MetadataEvent, ...]
    same: bool
    suspect: bool


class ResponseTracker:
    """The responses of one broker to one request."""

    def __init__(self) -> None:
        self.agreed: Any = None
        """The last response that was not suspect; None before the first one."""
        self.is_suspect = False
        """True if the last response was suspect."""
        self._last: Any = None
        self._response: type[Message] | None = None
        self._decoder: Decoder[Any] | None = None
        self._filter = EmptyResponseFilter()
        self._topics: Mapping[str, Any] = {}
        self._last_was_invalid = False

    @property
    def in_suspect_series(self) -> bool:
        """True if another suspect response would continue a series."""
        return self._filter.suspect_since is not None

    def apply(
        self,
        response: type[M],
        body: bytes | memoryview,
        *,
        version: int,
        at: datetime,
        kraft: bool,
        all_topics: bool = True,
        check: Callable[[M], None] = lambda _: None,
    ) -> TrackedResponse[M]:
        """Decode a response and compare it with the ones before.

        Args:
            response: the class of the response.
            body: the bytes behind the response header.
            version: the API version of the response.
            at: the time of the poll.
            kraft: True if the cluster runs KRaft, so that the controller id has no meaning.
            all_topics: True if the request was for all topics (`requests_all_topics`).
            check: raises an error if the response does not count, since another broker has sent it.

        Raises:
            DecodeError: the response is invalid. It changes nothing, but the next one is not the same as the last.
        """
        try:
            message, changes = self._decode(response, body, version)
        except DecodeError:
            self.invalid_response()
            raise
        try:
            check(message)
        except Exception:
            self._decoder = None  # it would compare the next response with this one
            self.invalid_response()
            raise
        same = is_same(changes) and not self._last_was_invalid
        self._last_was_invalid = False
        before, self._last = self._last, message
        self.is_suspect = all_topics and self._filter.is_suspect(message, at)
        if self.is_suspect:
            return TrackedResponse(message, changes, (), same, suspect=True)
        agreed, self.agreed = self.agreed, message
        if agreed is not before:  # suspect responses came in between
            events = () if agreed is None else metadata_events(compare(agreed, message), agreed, message, kraft=kraft)
        elif all_topics:
            events = metadata_events(changes, agreed, message, kraft=kraft)
        else:
            self._topics, topics = topic_changes(self._topics, getattr(message, "topics", ()), complete=False)
            events = metadata_events(changes, agreed, message, kraft=kraft, topics=topics)
        return TrackedResponse(message, changes, events, same, suspect=False)

    def invalid_response(self) -> None:
        """Note that a response could not be decoded: the next one is not the same as the last."""
        self._last_was_invalid = True

    def no_response(self, api_key: int) -> None:
        """End the series of suspect responses to requests with this API key: a poll had no response."""
        if self._response is not None and self._response.api_key == api_key:
            self._filter.end_series()

    def _decode(self, response: type[M], body: bytes | memoryview, version: int) -> tuple[M, Changes]:
        """Return the message, and what differs from the last one."""
        if self._decoder is not None and self._response is response and self._decoder.version == version:
            return self._decoder.decode(body), self._decoder.changed
        # This is the first response, or the broker was upgraded or downgraded.
        decoder: Decoder[M] = Decoder(response, version=version)
        message = decoder.decode(body)
        if self._response is not None and self._response is not response:
            # Another dialect, as after a failover to another cluster: there is nothing to compare with.
            self.agreed = self._last = None
            self._filter, self._topics = EmptyResponseFilter(), {}
        self._response, self._decoder = response, decoder
        return message, decoder.changed if self._last is None else compare(self._last, message)
