"""Metadata events of recorded polls: the events that a poller reported when it made these polls.

An event stream knows no topology of the cluster, so it does not know whether the cluster runs KRaft, where a broker
reports any live broker as the controller. It therefore has no `ControllerMoved` for Metadata responses.
"""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from enum import StrEnum

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from kwire.declare.introspect import describe
from kwire.errors import KwireError
from kwire.messages import find
from kwire.metadata.requested_topics import payload_requests_all_topics
from kwire.metadata.response_tracker import ResponseTracker
from kwire.protocol.client_connection import find_body_start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kwire.metadata.events import MetadataEvent

__all__ = ["EventStream", "PollEvent", "PollEventKind", "PollRow", "reporter_of"]


class PollRow(Protocol):
    """A recorded poll, as `kwire.capture.Row` has it."""

    @property
    def polled_at(self) -> datetime: ...
    @property
    def broker_id(self) -> int: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def api_key(self) -> int: ...
    @property
    def api_version(self) -> int: ...
    @property
    def frame(self) -> bytes | None: ...
    @property
    def request(self) -> bytes | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def cluster_id(self) -> str | None: ...
    @property
    def dialect(self) -> str: ...
    @property
    def kind(self) -> str | None: ...
    @property
    def poller_id(self) -> str | None: ...


class PollEventKind(StrEnum):
    """Events of polls, in addition to the classes of `kwire.metadata.events`."""

    UNREACHABLE = "Unreachable"
    """The broker does not respond; reported once."""
    REACHABLE = "Reachable"
    """The broker responds again."""
    SUSPECT = "Suspect"
    """A series of suspect empty responses begins."""
    INVALID_RESPONSE = "InvalidResponse"
    """A response cannot be decoded."""


class PollEvent(NamedTuple):
    """An event of one poll.

    Attributes:
        at: the time of the poll.
        broker_id: the reporting broker.
        endpoint: the endpoint that was polled.
        kind: the name of a class of `kwire.metadata.events`, or a `PollEventKind`.
        text: one line that describes the event.
        facts: the fields of the event, by name.
        event: the metadata event; None for a `PollEventKind`.
    """

    at: datetime
    broker_id: int
    endpoint: str
    kind: str
    text: str
    facts: dict[str, Any]
    event: MetadataEvent | None = None


class EventStream:
    """Turns rows, in order of time, into events.

    Attributes:
        polls: number of polls.
        same: number of polls that reported the same as the poll before.
        failed: number of polls without a response.
    """

    def __init__(self) -> None:
        self.polls = self.same = self.failed = 0
        self._trackers: dict[tuple[str, int, str, str | None, int, bytes | None], ResponseTracker] = {}
        self._unreachable: set[tuple[int, str]] = set()

    def events(self, row: PollRow) -> Iterator[PollEvent]:
        """Yield the events of a row.

        A row of kind 'carried' is not a poll and has none; it is the state that the next rows are compared with.
        """
        if row.kind == "carried":
            for _ in self._response_events(row):
                pass
            return
        self.polls += 1
        broker = row.broker_id, row.endpoint
        if row.frame is None:
            self.failed += 1
            for (*reporter, _, _), tracker in self._trackers.items():
                if tuple(reporter) == reporter_of(row):
                    tracker.no_response(row.api_key)
            if broker not in self._unreachable:
                self._unreachable.add(broker)
                yield _event(row, PollEventKind.UNREACHABLE, f"no response: {row.error}", {"error": row.error})
            return
        if broker in self._unreachable:
            self._unreachable.discard(broker)
            yield _event(row, PollEventKind.REACHABLE, "responds again", {})
        self.same += row.kind == "same"
        yield from self._response_events(row)

    def _response_events(self, row: PollRow) -> Iterator[PollEvent]:
        """Yield the events of a response."""
        all_topics = payload_requests_all_topics(row.request, row.dialect)
        request = None if all_topics and row.api_key in _SINGLE_REQUESTS else row.request and row.request[8:]
        tracker = self._trackers.setdefault((*reporter_of(row), row.api_key, request), ResponseTracker())
        if row.kind == "same" and not tracker.is_suspect:
            return
        in_series = tracker.in_suspect_series
        try:
            response, body = _response(row)
            tracked = tracker.apply(
                response, body, version=row.api_version, at=row.polled_at, kraft=True, all_topics=all_topics
            )
        except KwireError as error:
            tracker.invalid_response()
            yield _event(row, PollEventKind.INVALID_RESPONSE, f"invalid response: {error}", {"error": str(error)})
            return
        if tracked.suspect and not in_series:
            yield _event(row, PollEventKind.SUSPECT, "empty response, not yet confirmed", {})
        for event in tracked.events:
            yield _event(row, type(event).__name__, str(event), _facts(event), event)


_SINGLE_REQUESTS = {3, 60, 1000}
"""Metadata, DescribeCluster, and ClusterMetadata: requests for everything are one request, whatever their bytes."""


def reporter_of(row: PollRow) -> tuple[str, int, str, str | None]:
    """Return the cluster, broker id, endpoint, and poller that identify the reporting broker of a row.

    The endpoint counts only while the broker id is unknown: a broker may move to another endpoint. The reports of
    pollers are kept apart, since their clocks may differ and each compares with its own last response.
    """
    return row.cluster_id or "", row.broker_id, "" if row.broker_id >= 0 else row.endpoint, row.poller_id


def _response(row: PollRow) -> tuple[type[Any], memoryview]:
    """Return the class and the body of a response."""
    if None in (row.api_key, row.api_version) or row.frame is None:  # in frames that another program recorded
        raise KwireError("the row has no api_key, api_version, or frame")
    response = find(row.dialect, api_key=row.api_key, version=row.api_version, kind="response")
    start = find_body_start(row.frame, describe(response).header_version(row.api_version))
    return response, memoryview(row.frame)[start:]


def _event(row: PollRow, kind: str, text: str, facts: dict[str, Any], event: MetadataEvent | None = None) -> PollEvent:
    return PollEvent(row.polled_at, row.broker_id, row.endpoint, kind, text, facts, event)


def _facts(event: MetadataEvent) -> dict[str, Any]:
    """Return the fields of an event; values that JSON does not have are text."""
    facts = {field.name: getattr(event, field.name) for field in dataclass_fields(event)}
    return {name: value if isinstance(value, int | str | tuple | None) else str(value) for name, value in facts.items()}
