"""The ledger of a sink: which incidents it has received.

    OUT/_notified/<sink>.json

It is written before each notice is sent, with the notice, and after the sink has accepted it. If the process ends
between the two, the next one repeats exactly that notice, whatever gold says by then, unless the sink has a way to look
up that it has received it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.spark.sinks.notice import OUTAGE_KINDS, IncidentNotice, NoticeStatus
from kwire.storage.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER = "_notified"

KEPT = timedelta(days=7)
"""How long an ended incident is remembered. Incidents that ended earlier are never sent."""

SAME_OUTAGE = timedelta(seconds=60)
"""How far the first signs of an outage may move when its diagnosis changes: longer than the session of any broker."""


class Entry(NamedTuple):
    """A sent incident. Times are ISO 8601; `labels` are those of its first notice."""

    status: str
    subject: str
    first_sign_at: str
    ended_at: str | None
    labels: Mapping[str, str]


class Sending(NamedTuple):
    """A notice that is being sent, and what the sink returned as its position before."""

    notice: IncidentNotice
    position: Any


class Ledger:
    """The incidents that a sink has received.

    Args:
        out: the folder of the pipeline.
        sink: the name of the sink.
    """

    def __init__(self, out: str, sink: str) -> None:
        self._system = Location.parse(out).files()
        self._path = f"{FOLDER}/{sink}.json"
        self.is_new = True
        self._entries: dict[str, Entry] = {}
        self._ended_until: datetime | None = None
        self._sending: Sending | None = None
        self._load()

    def start(self, incidents: Iterable[Mapping[str, Any]]) -> None:
        """Begin a new ledger: incidents that have ended by now are not sent."""
        self._ended_until = max((row["ended_at"] for row in incidents if row["ended_at"] is not None), default=None)
        self.is_new = False
        self._write()

    def pending(self, incidents: Iterable[Mapping[str, Any]]) -> list[IncidentNotice]:
        """Return the notices that the sink has not received, by the time of the first sign.

        A lasting incident that gold no longer has was another one, under a new id, or was withdrawn by late frames.
        """
        rows = {str(row["incident_id"]): row for row in incidents}
        self._rename_reclassified(rows)
        notices = []
        for row in sorted(rows.values(), key=lambda row: (row["first_sign_at"], row["incident_id"])):
            status = NoticeStatus.FIRING if row["ended_at"] is None else NoticeStatus.RESOLVED
            known = self._entries.get(str(row["incident_id"]))
            too_old = self._ended_until is not None and row["ended_at"] is not None
            if known is None and too_old and row["ended_at"] <= self._ended_until:
                continue
            if known is None or (known.status == NoticeStatus.FIRING and status == NoticeStatus.RESOLVED):
                notices.append(IncidentNotice(status, row, known and known.labels))
        return notices

    @property
    def unconfirmed(self) -> Sending | None:
        """The notice of which sending has begun, and which the sink may have received; None if all are confirmed."""
        return self._sending

    def begin(self, notice: IncidentNotice, position: Any = None) -> None:
        """Record that a notice is about to be sent, and the sink's position, which is a value of JSON."""
        self._sending = Sending(notice, position)
        self._write()

    def add(self, notice: IncidentNotice) -> None:
        """Record that the sink has received a notice."""
        self._sending = None
        self._entries[str(notice.incident["incident_id"])] = _entry(notice)
        self._forget_old()
        self._write()

    def _rename_reclassified(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep one entry for an outage: its id changes with its kind, when more signs are seen."""
        gone = {id: entry for id, entry in self._entries.items() if id not in rows}
        for id, row in rows.items():
            if id in self._entries:
                continue
            for old_id, entry in gone.items():
                moved = abs(row["first_sign_at"] - datetime.fromisoformat(entry.first_sign_at))
                if entry.subject == _subject(row) and moved <= SAME_OUTAGE:
                    self._entries[id] = self._entries.pop(old_id)
                    del gone[old_id]
                    break

    def _forget_old(self) -> None:
        times = [datetime.fromisoformat(entry.ended_at) for entry in self._entries.values() if entry.ended_at]
        if not times or min(times) >= max(times) - KEPT:
            return
        limit = max(times) - KEPT
        self._ended_until = max(self._ended_until or limit, limit)
        self._entries = {
            id: entry
            for id, entry in self._entries.items()
            if entry.ended_at is None or datetime.fromisoformat(entry.ended_at) > limit
        }

    def _load(self) -> None:
        from pyarrow.fs import FileType

        if self._system.get_file_info(self._path).type == FileType.NotFound:
            return
        with self._system.open_input_stream(self._path) as stream:
            known = json.loads(stream.read())
        self.is_new = False
        self._entries = {id: Entry(*entry) for id, entry in known["incidents"].items()}
        if (sending := known["sending"]) is not None:
            notice = IncidentNotice.from_json(sending["notice"], sending["first_labels"])
            self._sending = Sending(notice, sending["position"])
        until = known["ended_until"]
        self._ended_until = None if until is None else datetime.fromisoformat(until)

    def _write(self) -> None:
        """Write a new file and move it into place: a crash leaves the old or the new one."""
        until = None if self._ended_until is None else self._ended_until.isoformat()
        known = {"ended_until": until, "incidents": self._entries, "sending": _as_json(self._sending)}
        content = json.dumps(known).encode()
        self._system.create_dir(FOLDER)
        with self._system.open_output_stream(f"{self._path}.new") as stream:
            stream.write(content)
        self._system.move(f"{self._path}.new", self._path)


def _as_json(sending: Sending | None) -> dict[str, Any] | None:
    if sending is None:
        return None
    notice, position = sending
    return {"notice": notice.as_json(), "first_labels": notice.first_labels, "position": position}


def _entry(notice: IncidentNotice) -> Entry:
    row = notice.incident
    ended = row["ended_at"]
    first_sign = row["first_sign_at"].astimezone(UTC).isoformat()
    ended_at = None if ended is None else ended.isoformat()
    return Entry(str(notice.status), _subject(row), first_sign, ended_at, notice.labels)


def _subject(row: Mapping[str, Any]) -> str:
    """Return what an incident is about, which does not change with the kind of an outage."""
    kind = "outage" if row["kind"] in OUTAGE_KINDS else row["kind"]
    return f"{row['cluster_id']}/{kind}/{row['broker_id']}"
