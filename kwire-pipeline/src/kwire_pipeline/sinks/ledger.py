"""The ledger of a sink: the alerts that it has received, and the notices on their way.

    OUT/_notified/<sink>/ledger.json

An alert is an incident as the sink knows it (`alert_identity`). Its id is the incident id of its first notice, although
gold gives an outage another id when more signs change its diagnosis.

| status of the last notice, and its arrival | next notice |
|---|---|
| (no entry) | `firing` if gold has it open; `resolved` if it ended after the sink began |
| firing, accepted: the sink has it, or may have it | `resolved` once gold has it ended or no longer has it |
| resolved, accepted | `firing` of the next episode if gold has it open again |
| firing, refused: a dead letter that cannot have arrived | none |
| either, under way or unknown: the notice may have arrived | this notice, with the same bytes |
| either, unsent: it has certainly not arrived | what gold says now; none if that is what the sink has |

| arrival | event | becomes |
|---|---|---|
| any | `begin`, which is stored before the notice is sent | under way, or unknown as before |
| under way, unknown | `confirm` | accepted |
| | `fail` after which it may have arrived; `pending` after a crash | unknown |
| under way | any other `fail`; `end_round` before it was sent | unsent |
| under way, unknown | `bury` | dead letter: accepted if it may have arrived or is `resolved`, else refused |

A sink that has accepted nothing for `BACKLOG_AFTER` catches up without a flood: one notice of the kind `MISSED` counts
the incidents that have begun and ended without a notice. It is repeated like any other notice, its incidents are
resolved alerts from then on, and incidents that end meanwhile wait for the next summary.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire._util.atomic_file import replace_file
from kwire.capture.folder import sync_directory
from kwire.storage.location import Location
from kwire_pipeline.sinks.alert_identity import SAME_OUTAGE, follow, follow_flapping, new_alert, withdrawn
from kwire_pipeline.sinks.notice import MISSED, IncidentNotice, NoticeStatus, summary_of
from kwire_pipeline.sinks.sent_alerts import Arrival, DeadLetter, SentAlert, decode_alert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FOLDER = "_notified"

KEPT = timedelta(days=7)
"""Retention of ended incidents, before the newest end. Incidents that ended earlier are never sent. Chosen, not
measured: longer than captures are late after a weekend."""

BACKLOG_AFTER = timedelta(minutes=10)
"""Time without an accepted notice after which a sink gets a summary of what has ended since. Chosen, not measured:
longer than the restart of a receiver."""

DEAD_LETTERS_KEPT = 100
"""Maximum number of dead letters that are kept, newest last; all are counted. Chosen, not measured."""

log = logging.getLogger(__name__)


class Ledger:
    """The alerts that a sink has received. One process at a time may have it open (`ledger_owner`).

    Args:
        out: the folder of the pipeline.
        sink: the name of the sink.
        generation: the number of the owner, for files that a previous owner might still write; 0 if it cannot. None
            reads the ledger of any owner and writes nothing.

    Attributes:
        is_new: True until `start` if there was no ledger.
        dead_letters: the newest dead letters.
        dead_letter_count: number of dead letters ever.
        totals: number of alerts ever sent by cluster id and kind; a new diagnosis of an outage is not counted again.
        unavailable_since: the end of the first round in which the sink accepted nothing; None while it accepts notices.
    """

    def __init__(self, out: str, sink: str, generation: int | None = 0) -> None:
        self._location = Location.parse(out)
        self._system = self._location.files()
        self._folder = f"{FOLDER}/{sink}"
        self._path = _path(self._folder, generation or 0)
        self.is_new = True
        self._alerts: dict[str, SentAlert] = {}
        self.dead_letters: list[DeadLetter] = []
        self.dead_letter_count = 0
        self.totals: Counter[tuple[str, str]] = Counter()
        self.unavailable_since: datetime | None = None
        self._is_saved = True
        self._encoded: dict[str, tuple[str, str]] = {}
        """The incident id and the JSON of each alert that has not changed since the last write."""
        self._missed: list[IncidentNotice] = []
        self._ended_until = datetime.min.replace(tzinfo=UTC)
        self._load(generation)

    def __len__(self) -> int:
        """Return the number of alerts."""
        return len(self._alerts)

    def start(self, began_at: datetime) -> None:
        """Begin a new ledger: incidents that ended until `began_at` are never sent."""
        self._ended_until = began_at
        self.is_new = False
        self._write()

    def save(self) -> None:
        """Write the ledger if it has changed since the last write."""
        if not self._is_saved:
            self._write()

    def _change(self, id: str) -> SentAlert:
        """Return an alert, and note that it changes."""
        self._is_saved = False
        self._encoded.pop(id, None)
        return self._alerts[id]

    # What to send

    @property
    def ended_until(self) -> datetime:
        """The time before which incidents must have ended to be never sent."""
        return self._ended_until

    @property
    def unfinished(self) -> set[str]:
        """The ids in gold of incidents that the sink may have as open, or has refused."""
        return {alert.incident_id for alert in self._alerts.values() if not alert.is_resolved}

    @property
    def followed_since(self) -> datetime:
        """The earliest first sign of an incident that may be a new diagnosis of one that the sink has as open."""
        times = [
            datetime.fromisoformat(alert.first_sign_at)
            for alert in self._alerts.values()
            if alert.is_pending or alert.is_firing
        ]
        return min(times) - SAME_OUTAGE if times else datetime.max.replace(tzinfo=UTC)

    @property
    def firing(self) -> list[IncidentNotice]:
        """The last `firing` notice of each open alert that has no other notice on its way."""
        return [alert.as_notice() for alert in self._alerts.values() if alert.is_firing]

    @property
    def alert_counts(self) -> Counter[str]:
        """The number of alerts by the status of an accepted notice, or the arrival of another one."""
        arrivals = [(alert.arrival, alert.status) for alert in self._alerts.values()]
        return Counter(str(status if arrival is Arrival.ACCEPTED else arrival) for arrival, status in arrivals)

    @property
    def failed(self) -> int:
        """The number of notices that the sink has not accepted yet."""
        return sum(alert.is_pending for alert in self._alerts.values())

    def pending(
        self,
        incidents: Iterable[Mapping[str, Any]],
        settled: datetime | Callable[[dict[str, Any]], bool] | None = None,
        accepts: Callable[[Mapping[str, Any]], bool] = lambda _: True,
    ) -> list[IncidentNotice]:
        """Return one notice for each alert that differs from gold, in the order in which to send them.

        Notices with failed attempts come last, so that they never delay others.

        Args:
            incidents: rows of gold's `incidents`: at least all that last, that ended after `ended_until`, that began
                after `followed_since`, or that are `unfinished`.
            settled: the latest first sign of a new incident that is sent, or the condition on it [default: any].
            accepts: the filter of new alerts. What the sink has received is resolved whatever its row says by now.
        """
        rows = {str(row["incident_id"]): row for row in incidents}
        if isinstance(settled, datetime):
            settled = partial(_first_sign_until, settled)
        for id, alert in self._alerts.items():
            if alert.arrival is Arrival.UNDER_WAY:  # the round that sent it has not ended
                self._change(id).arrival = Arrival.UNKNOWN
        follow(self._alerts.values(), rows)
        settled_rows = (row for row in rows.values() if settled is None or settled(dict(row)))
        follow_flapping(self._alerts.values(), filter(accepts, settled_rows))
        self._forget_old(rows)
        notices = [notice for id in list(self._alerts) if (notice := self._next_notice(id, rows, accepts))]
        tracked = {alert.incident_id for alert in self._alerts.values()}
        former = {id for alert in self._alerts.values() for id in alert.former}
        alert_of_incident = {alert.incident_id: id for id, alert in reversed(self._alerts.items())}
        for id, row in rows.items():
            ended = row["ended_at"]
            is_history = ended is not None and (ended <= self._ended_until or id in former)
            is_new = settled is not None and not settled(dict(row))
            if id in tracked or is_history or is_new or not accepts(row):
                continue
            status = NoticeStatus.FIRING if ended is None else NoticeStatus.RESOLVED
            notices.append(IncidentNotice(status, row, self._free_labels(row, alert_of_incident)))
        self._missed = []
        if self.unavailable_since is not None and datetime.now(UTC) - self.unavailable_since >= BACKLOG_AFTER:
            self._missed = [
                notice for notice in notices if notice.status is NoticeStatus.RESOLVED and self._is_unheard(notice)
            ]
            unheard = {notice.id for notice in self._missed}
            notices = [notice for notice in notices if notice.id not in unheard]
            if self._missed and not any(notice.incident["kind"] == MISSED for notice in notices):
                notices.append(summary_of(self._missed, self.unavailable_since))
        return sorted(notices, key=self._order)

    def _is_unheard(self, notice: IncidentNotice) -> bool:
        """Return whether the sink has certainly no notice about an incident."""
        alert = self._alerts.get(notice.id)
        return alert is None or (alert.is_first and alert.arrival is Arrival.UNSENT and not alert.is_summary)

    def _next_notice(
        self,
        id: str,
        rows: Mapping[str, Mapping[str, Any]],
        accepts: Callable[[Mapping[str, Any]], bool],
    ) -> IncidentNotice | None:
        """Return the notice that an alert needs, if any."""
        alert = self._alerts[id]
        row = rows.get(alert.incident_id)
        target = NoticeStatus.FIRING if row is not None and row["ended_at"] is None else NoticeStatus.RESOLVED
        if alert.arrival is Arrival.UNKNOWN or alert.is_summary:
            return alert.as_notice()
        if alert.arrival is Arrival.UNSENT:
            if alert.is_first and (row is None or not accepts(row)):
                del self._alerts[id]  # the sink has not heard of it
                return None
            if alert.is_first or alert.status is target:
                return IncidentNotice(target, row or withdrawn(alert), alert.labels, alert.episode)
            self._take_back(id, row)
        if alert.status is target or alert.arrival is Arrival.REFUSED:
            return None
        episode = alert.episode + (target is NoticeStatus.FIRING)
        return IncidentNotice(target, row or withdrawn(alert), alert.labels, episode)

    def _take_back(self, id: str, row: Mapping[str, Any] | None) -> None:
        """Return an alert to the state before a notice that has certainly not arrived, and is not the first one."""
        alert = self._change(id)
        alert.arrival = Arrival.ACCEPTED
        if alert.status is NoticeStatus.FIRING:
            alert.status, alert.notice = NoticeStatus.RESOLVED, None
            alert.episode -= 1
        else:
            assert row is not None
            alert.status = NoticeStatus.FIRING
            alert.notice = IncidentNotice(alert.status, row).as_json()

    def _order(self, notice: IncidentNotice) -> tuple[Any, ...]:
        """Order notices by failed attempts, then by time; what gold has withdrawn comes after its successor."""
        alert = self._alerts.get(notice.id)
        attempts = alert.attempts if alert is not None and alert.is_pending else 0
        incident = notice.incident
        is_withdrawn = "withdrawn" in (incident.get("attributes") or {})
        return attempts, is_withdrawn, incident["first_sign_at"], incident["incident_id"]

    def _free_labels(self, row: Mapping[str, Any], alert_of_incident: Mapping[str, str]) -> dict[str, str] | None:
        """Return the labels of a new alert if they differ from its row; None otherwise.

        They have another id if an alert had this id first and now has another one in gold, and the id of the causing
        alert as the sink knows it.
        """
        id, number = str(row["incident_id"]), 1
        while id in self._alerts:
            number += 1
            id = f"{row['incident_id']}-{number}"
        cause = row["caused_by"]
        if cause is not None:
            cause = alert_of_incident.get(cause, cause)
        if number == 1 and cause == row["caused_by"]:
            return None
        return IncidentNotice(NoticeStatus.FIRING, {**row, "incident_id": id, "caused_by": cause}).labels

    # What has happened to a notice

    def begin(self, notice: IncidentNotice) -> None:
        """Record that a notice of `pending` is about to be sent."""
        if notice.id not in self._alerts:
            self._alerts[notice.id] = new_alert(notice)
            if notice.incident["kind"] == MISSED:
                for missed in self._missed:
                    self._alerts[missed.id] = new_alert(missed)
                    self._settle(missed, Arrival.ACCEPTED)
                self._missed = []
        alert = self._change(notice.id)
        if not alert.is_pending:
            alert.attempts = alert.strikes = 0
        if alert.arrival is not Arrival.UNKNOWN:
            alert.arrival, alert.notice = Arrival.UNDER_WAY, notice.as_json()
            alert.status, alert.episode = notice.status, notice.episode

    def confirm(self, notice: IncidentNotice) -> None:
        """Record that the sink has accepted a notice."""
        alert = self._settle(notice, Arrival.ACCEPTED)
        if not alert.is_counted:
            alert.is_counted, row = True, notice.incident
            self.totals[str(row["cluster_id"]), str(row["kind"])] += 1

    def fail(self, notice: IncidentNotice, *, may_have_arrived: bool) -> None:
        """Record that the sink has not accepted a notice, which remains pending."""
        alert = self._change(notice.id)
        alert.attempts += 1
        if may_have_arrived:
            alert.arrival = Arrival.UNKNOWN
        elif alert.arrival is Arrival.UNDER_WAY:
            alert.arrival = Arrival.UNSENT

    def strike(self, notice: IncidentNotice) -> int:
        """Count that the sink failed at a notice while it accepted others, and return the number of such rounds."""
        alert = self._change(notice.id)
        alert.strikes += 1
        return alert.strikes

    def bury(self, notice: IncidentNotice, reason: str) -> None:
        """Make a notice that has failed a dead letter."""
        alert = self._alerts[notice.id]
        letter = DeadLetter(_iso(datetime.now(UTC)), notice.id, reason, alert.attempts, notice.as_json())
        self.dead_letters = [*self.dead_letters, letter][-DEAD_LETTERS_KEPT:]
        self.dead_letter_count += 1
        is_there = alert.arrival is Arrival.UNKNOWN or notice.status is NoticeStatus.RESOLVED
        self._settle(notice, Arrival.ACCEPTED if is_there else Arrival.REFUSED)

    def end_round(self, *, accepted: int, failed: int) -> None:
        """Record the outcome of a round; a sink is available again once it lacks nothing."""
        for id, alert in self._alerts.items():
            if alert.arrival is Arrival.UNDER_WAY:  # the round ended before it was sent
                self._change(id).arrival = Arrival.UNSENT
        since = self.unavailable_since
        if not failed and not self._missed:
            since = None
        elif failed and not accepted:
            since = since or datetime.now(UTC)
        self._is_saved &= since == self.unavailable_since
        self.unavailable_since = since

    def _settle(self, notice: IncidentNotice, arrival: Arrival) -> SentAlert:
        alert = self._change(notice.id)
        alert.status, alert.arrival, alert.is_first = notice.status, arrival, False
        ended = notice.incident["ended_at"]
        if "withdrawn" in (notice.incident.get("attributes") or {}):
            ended = None  # the time of the driver, which must not decide what polls of another time are too old
        alert.ended_at = None if alert.is_firing else alert.first_sign_at if ended is None else _iso(ended)
        alert.notice = notice.as_json() if alert.is_firing else None
        return alert

    # Changes of gold

    def _forget_old(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        ends = {
            id: rows[alert.incident_id]["ended_at"] if alert.incident_id in rows else _time(alert.ended_at)
            for id, alert in self._alerts.items()
            if alert.is_resolved or alert.arrival is Arrival.REFUSED
        }
        all_ends = [*ends.values(), *(row["ended_at"] for row in rows.values())]
        newest = max((ended for ended in all_ends if ended is not None), default=None)
        if newest is None or newest - KEPT <= self._ended_until:
            return
        self._ended_until = newest - KEPT
        until = _iso(self._ended_until)
        self._encoded.clear()
        for alert in self._alerts.values():
            alert.former = {id: at for id, at in alert.former.items() if at > until}
        for id, ended in ends.items():
            if ended is not None and ended <= self._ended_until:
                del self._alerts[id]

    # The file

    def _load(self, generation: int | None) -> None:
        from pyarrow.fs import FileSelector, FileType

        infos = self._system.get_file_info(FileSelector(self._folder, allow_not_found=True, recursive=False))
        prefix = f"{self._folder}/ledger"
        files = {info.path: info for info in infos if info.type == FileType.File and info.path.startswith(prefix)}
        first = _path(self._folder, 1)
        paths = [path for path in files if path.endswith(".json")]
        if generation is not None:
            paths = [path for path in paths if path == self._path or (generation and first <= path <= self._path)]
        if not paths:
            return
        path = max(paths)  # the ledger of the previous owner, unless this owner has written one
        with self._system.open_input_stream(path) as stream:
            content = stream.read()
        try:
            values = json.loads(content)
            self._alerts = {id: decode_alert(alert) for id, alert in values["alerts"].items()}
            self._ended_until = datetime.fromisoformat(values["ended_until"])
            self.dead_letters = [DeadLetter(**letter) for letter in values["dead_letters"]]
            self.dead_letter_count = values["dead_letter_count"]
            self.unavailable_since = _time(values.get("unavailable_since"))
            self.totals = Counter({(cluster, kind): count for cluster, kind, count in values["totals"]})
        except (ValueError, LookupError, TypeError, AttributeError) as error:  # not JSON, or not a ledger
            # What the sink has received is unknown: it gets what lasts, and what has ended since the last write.
            log.error("%s is damaged: the sink begins again, and receives all open incidents (%s)", path, error)
            if generation is None:
                return
            self._system.move(path, f"{path}.damaged")
            self._alerts = {}
            self.start(files[path].mtime)
        self.is_new = False

    def _encode(self, id: str, alert: SentAlert) -> str:
        incident_id, encoded = self._encoded.get(id, ("", ""))
        if not encoded or incident_id != alert.incident_id:
            encoded = json.dumps(asdict(alert))
            self._encoded[id] = alert.incident_id, encoded
        return encoded

    def _write(self) -> None:
        values = {
            "ended_until": _iso(self._ended_until),
            "unavailable_since": None if self.unavailable_since is None else _iso(self.unavailable_since),
            "dead_letters": [asdict(letter) for letter in self.dead_letters],
            "dead_letter_count": self.dead_letter_count,
            "totals": [[*labels, count] for labels, count in self.totals.items()],
        }
        alerts = ", ".join(f"{json.dumps(id)}: {self._encode(id, alert)}" for id, alert in self._alerts.items())
        content = f'{{"alerts": {{{alerts}}}, {json.dumps(values)[1:]}'.encode()
        if self._location.is_path:
            _replace(Path(self._location.native) / self._path, content)
            self._is_saved = True
            return
        with self._system.open_output_stream(self._path) as stream:  # an object appears as a whole
            stream.write(content)
        self._is_saved = True


def sinks_with_ledgers(out: str) -> list[str]:
    """Return the names of the sinks that have a ledger, sorted."""
    from pyarrow.fs import FileSelector

    infos = Location.parse(out).files().get_file_info(FileSelector(FOLDER, allow_not_found=True, recursive=True))
    return sorted({info.path.split("/")[1] for info in infos if info.path.count("/") > 1})


def _path(folder: str, generation: int) -> str:
    return f"{folder}/ledger-{generation:012}.json" if generation else f"{folder}/ledger.json"


def _replace(path: Path, content: bytes) -> None:
    """Replace a file so that a crash or a power failure leaves the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content, is_synced=True)
    sync_directory(path.parent)


def _first_sign_until(latest: datetime, row: Mapping[str, Any]) -> bool:
    return bool(row["first_sign_at"] <= latest)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()
