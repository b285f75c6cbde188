"""A capture, or a table of frames, as the story of what changed: what a poller told, told again.

Rules of this file: answers go through the very code that a poller uses, so that the same differences come out, the
doubts about empty answers included. What an answer was the same as is not looked at again, unless it is doubted.
"""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kwire.capture import UnreadableCapture, from_table, replay
from kwire.capture.rows import RowKind, to_rows
from kwire.cli.input_sources import InvalidInput
from kwire.declare.introspect import describe
from kwire.errors import KwireError
from kwire.messages import find
from kwire.metadata.response_tracker import ResponseTracker
from kwire.protocol import Endpoint, ReceivedResponse, SentRequest
from kwire.protocol.client_connection import find_body_start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from kwire.capture import Row
    from kwire.metadata.events import MetadataEvent

NOWHERE = Endpoint("", 0)


class NoFrames(KwireError, ValueError):
    """What was named is no capture, and no table of frames. ``path``."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Event(NamedTuple):
    """Something that a row tells and the rows before did not. ``kind``: the name of a difference, or ``Silent``,
    ``Answers``, ``Suspect``, ``Unreadable``.
    """

    at: datetime
    broker_id: int
    endpoint: str
    kind: str
    text: str
    facts: dict[str, Any]


class Story:
    """Takes rows in their order. ``polls``, ``same``, ``silent``: how many there were."""

    def __init__(self) -> None:
        self.polls = self.same = self.silent = 0
        self._views: dict[object, dict[tuple[object, ...], ResponseTracker]] = {}
        self._silent: set[object] = set()

    def events(self, row: Row) -> Iterator[Event]:
        """What that row tells; nothing for one that is carried, which only says what was so before."""
        if row.kind == "carried":
            for _ in self._told(row):
                pass
            return
        self.polls += 1
        who = row.cluster_id, row.broker_id, row.endpoint
        if row.frame is None:
            self.silent += 1
            if who not in self._silent:
                self._silent.add(who)
                yield _event(row, "Silent", f"no answer: {row.error}", {"error": row.error})
            return
        if who in self._silent:
            self._silent.discard(who)
            yield _event(row, "Answers", "answers again", {})
        self.same += row.kind == "same"
        yield from self._told(row)

    def _told(self, row: Row) -> Iterator[Event]:
        asked = row.cluster_id, row.api_key
        who = row.broker_id, row.endpoint, row.request and row.request[8:]
        views = self._views.setdefault(asked, {})
        view = views.setdefault(who, ResponseTracker())
        doubted = view.suspect
        if row.kind == "same" and not doubted:
            return
        others = [each for other, each in views.items() if other[:2] != who[:2]]
        try:
            # An answer names any broker as controller under KRaft, and a row does not say whether this is KRaft.
            seen = view.take(_answer(row), row.polled_at.timestamp(), kraft=True, others=others)
        except KwireError as error:
            yield _event(row, "Unreadable", f"an answer cannot be read: {error}", {"error": str(error)})
            return
        if seen.suspect and not doubted:
            yield _event(row, "Suspect", "an empty answer, not believed yet", {})
        for difference in seen.events:
            yield _event(row, type(difference).__name__, str(difference), _facts(difference))


def _answer(row: Row) -> ReceivedResponse[Any]:
    """The row as what a connection hands over."""
    payload = row.frame
    assert payload is not None
    if None in (row.api_key, row.api_version):  # in frames that somebody else recorded
        raise InvalidInput("its row does not say api_key and api_version")
    cls = find(row.dialect, api_key=row.api_key, version=row.api_version, kind="response")
    start = find_body_start(payload, describe(cls).header_version(row.api_version))
    request: Any = None  # which is not asked for once there is an answer
    return ReceivedResponse(NOWHERE, SentRequest(0, request, cls, row.api_version, b""), payload, start)


def _event(row: Row, kind: str, text: str, facts: dict[str, Any]) -> Event:
    return Event(row.polled_at, row.broker_id, row.endpoint, kind, text, facts)


def _facts(difference: MetadataEvent) -> dict[str, Any]:
    facts = {field.name: getattr(difference, field.name) for field in dataclass_fields(difference)}
    return {name: value if isinstance(value, int | str | tuple | None) else str(value) for name, value in facts.items()}


def rows_at(
    place: Path, *, since: datetime | None = None, until: datetime | None = None, speed: float | None = None
) -> Iterator[Row]:
    """The polls of a capture folder, or of a parquet file of frames (``kwire.capture.from_table``).

    Raises CaptureError, and NoFrames for whatever else is wrong with the files.
    """
    try:
        if place.is_dir():
            yield from replay(place, since=since, until=until, speed=speed, carried=True)
        else:
            yield from _rows_of_file(place, since, until)
    except UnreadableCapture as error:
        raise (error if error.path is not None else NoFrames(place, error.reason)) from error
    except KwireError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise NoFrames(place, " ".join(str(error).split())) from error  # of one line


def _rows_of_file(place: Path, since: datetime | None, until: datetime | None) -> Iterator[Row]:
    for batch in from_table(pq.read_table(place)).sort_by("polled_at").to_batches():
        for row in to_rows(batch):
            if since is not None and row.polled_at < since:
                if row.frame is not None:
                    yield row._replace(kind=RowKind.CARRIED)
            elif until is None or row.polled_at < until:
                yield row
