"""The ledger of a sink: the alerts that it has received, and the notices on their way.

    OUT/_notified/<sink>/ledger-<number of its owner>.json

An alert is an incident as the sink knows it (`alert_identity`). Its id is the incident id of its first notice, although
gold gives an outage another id when more signs change its diagnosis.

| state | the sink | next notice |
|---|---|---|
| (no entry) | has no notice | `firing` if gold has it open; `resolved` if it ended after the sink began |
| unconfirmed | may have the notice | this notice, with the same bytes |
| firing | has it open | `resolved` once gold has it ended or no longer has it |
| resolved | has it ended | `firing` of the next episode if gold has it open again |
| refused | refused `firing` for good | none |

| event | an alert becomes |
|---|---|
| `begin`, which is stored before the notice is sent | unconfirmed |
| `confirm` | firing or resolved |
| `take_back`, and the end of a round before the notice was sent | what it was before `begin`, also no entry |
| `keep` after a failure, and a crash: the notice may have arrived | unconfirmed, and cannot be taken back |
| `bury` | a dead letter: refused if no `firing` can have arrived, else as after `confirm` |

A sink that has accepted nothing for `MISSED_AFTER` catches up without a flood: one notice of the kind `MISSED` counts
the incidents that have begun and ended without a notice. They are former incidents of its alert, and incidents that end
while it is unconfirmed wait for the next summary.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire._util.atomic_file import replace_file
from kwire.capture.folder import sync_directory
from kwire.storage.location import Location
from kwire_pipeline.sinks.alert_identity import SAME_OUTAGE, follow, follow_flapping, new_alert, withdrawn
from kwire_pipeline.sinks.notice import MISSED, IncidentNotice, NoticeStatus, summary_of
from kwire_pipeline.sinks.sent_alert import AlertState, DeadLetter, SentAlert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FOLDER = "_notified"

KEPT = timedelta(days=7)
"""Retention of ended incidents, before the newest end. Incidents that ended earlier are never sent. Chosen, not
measured: longer than captures are late after a weekend."""

MISSED_AFTER = timedelta(minutes=10)
"""Time without an accepted notice after which a sink gets a summary of what has ended since. Chosen, not measured:
longer than the restart of a receiver."""

STRIKES = 8
"""Number of rounds after which a notice that fails while others are accepted is a dead letter: about four minutes
of backoff. Chosen, not measured."""

DEAD_LETTERS_KEPT = 100
"""Maximum number of dead letters that are kept, newest last; all are counted. Chosen, not measured."""

log = logging.getLogger(__name__)


class Ledger:
    """The alerts that a sink has received. One process at a time may have it open (`ledger_owner`).

    Args:
        out: the folder of the pipeline.
        sink: the name of the sink.
        owner: the number of the owner, for files that a previous owner might still write; 0 if it cannot. None reads
            the newest ledger and writes nothing.

    Attributes:
        is_new: True until `start` if there was no ledger.
        ended_until: the time before which incidents must have ended to be never sent.
        dead_letters: the newest dead letters.
        dead_letter_count: number of dead letters ever.
        totals: number of alerts ever sent by cluster id and kind; a new diagnosis of an outage is not counted again.
        unavailable_since: the end of the first round in which the sink accepted nothing; None while it accepts notices.
    """

    def __init__(self, out: str, sink: str, owner: int | None = 0) -> None:
        self._location = Location.parse(out)
        self._system = self._location.files()
        self._folder = f"{FOLDER}/{sink}"
        self._path = f"{self._folder}/ledger-{owner or 0:012}.json"
        self.is_new = True
        self.ended_until = datetime.min.replace(tzinfo=UTC)
        self.dead_letters: list[DeadLetter] = []
        self.dead_letter_count = 0
        self.totals: Counter[tuple[str, str]] = Counter()
        self.unavailable_since: datetime | None = None
        self._alerts: dict[str, SentAlert] = {}
        self._before: dict[str, SentAlert | None] = {}
        """The alert before `begin` of each notice that has certainly not arrived, by its id."""
        self._missed: list[IncidentNotice] = []
        """The notices for which the next summary stands."""
        self._is_saved = True
        self._load(owner)

    def __len__(self) -> int:
        """Return the number of alerts."""
        return len(self._alerts)

    def start(self, began_at: datetime) -> None:
        """Begin a new ledger: incidents that ended until `began_at` are never sent."""
        self.ended_until = began_at
        self.is_new = self._is_saved = False
        self.save()

    # What to send

    @property
    def unfinished(self) -> set[str]:
        """The ids in gold of incidents that the sink may have as open, or has refused."""
        return {alert.incident_id for alert in self._alerts.values() if alert.state is not AlertState.RESOLVED}

    @property
    def followed_since(self) -> datetime:
        """The earliest first sign of an incident that may be a new diagnosis of one that the sink has as open."""
        times = [alert.first_sign_at for alert in self._alerts.values() if alert.notice is not None]
        return min(times) - SAME_OUTAGE if times else datetime.max.replace(tzinfo=UTC)

    @property
    def firing(self) -> list[IncidentNotice]:
        """The last `firing` notice of each alert that the sink has open, if no other notice is on its way."""
        alerts = (alert for alert in self._alerts.values() if alert.state is AlertState.FIRING)
        return [alert.notice for alert in alerts if alert.notice is not None]

    @property
    def alert_counts(self) -> Counter[str]:
        """The number of alerts by state."""
        return Counter(str(alert.state) for alert in self._alerts.values())

    def is_unconfirmed(self, notice: IncidentNotice) -> bool:
        """Return whether the sink may have a notice that it has not accepted."""
        alert = self._alerts.get(notice.id)
        return alert is not None and alert.state is AlertState.UNCONFIRMED

    def pending(
        self, incidents: Iterable[Mapping[str, Any]], accepts: Callable[[Mapping[str, Any]], bool] = lambda _: True
    ) -> list[IncidentNotice]:
        """Return one notice for each alert that differs from gold, by the times of their incidents.

        Args:
            incidents: rows of gold's `incidents`: at least all that last, that ended after `ended_until`, that began
                after `followed_since`, or that are `unfinished`.
            accepts: the condition on new alerts. What the sink has received is resolved whatever its row says by now.
        """
        self.take_back(self._before)  # of a round that an error has ended, such as a full disk
        rows = {str(row["incident_id"]): dict(row) for row in incidents}  # of our own: notices keep them
        follow(self._alerts.values(), rows)
        follow_flapping(self._alerts.values(), filter(accepts, rows.values()))
        self._forget_old(rows)
        alerts = self._alerts.values()
        notices = [notice for alert in alerts if (notice := _next_notice(alert, rows.get(alert.incident_id)))]
        former = {id for alert in alerts for id in alert.former}
        alert_ids = {alert.incident_id: id for id, alert in reversed(self._alerts.items())}
        for id, row in rows.items():
            ended = row["ended_at"]
            is_history = ended is not None and (ended <= self.ended_until or id in former)
            if id not in alert_ids and not is_history and accepts(row):
                status = NoticeStatus.FIRING if ended is None else NoticeStatus.RESOLVED
                first = IncidentNotice(status, row)
                notices.append(replace(first, labels=self._free_labels(first, alert_ids)))
        return sorted(self._with_summary(notices), key=_order)

    def _with_summary(self, notices: list[IncidentNotice]) -> list[IncidentNotice]:
        """Replace the notices that a sink has missed by a summary of them."""
        self._missed = []
        since = self.unavailable_since
        if since is None or datetime.now(UTC) - since < MISSED_AFTER:
            return notices

        def is_missed(notice: IncidentNotice) -> bool:
            return notice.status is NoticeStatus.RESOLVED and notice.id not in self._alerts

        self._missed = list(filter(is_missed, notices))
        notices = list(filterfalse(is_missed, notices))
        if self._missed and not any(notice.incident["kind"] == MISSED for notice in notices):
            notices.append(summary_of(self._missed, since))
        return notices

    def _free_labels(self, first: IncidentNotice, alert_ids: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of a new alert.

        They have another id if an alert had this id first and now has another one in gold, and the id of the causing
        alert as the sink has it.
        """
        labels, number = dict(first.labels), 1
        while labels["incident_id"] in self._alerts:
            number += 1
            labels["incident_id"] = f"{first.id}-{number}"
        if cause := labels.get("caused_by"):
            labels["caused_by"] = alert_ids.get(cause, cause)
        return labels

    def _forget_old(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        ends = {
            id: rows[alert.incident_id]["ended_at"] if alert.incident_id in rows else alert.ended_at
            for id, alert in self._alerts.items()
            if alert.notice is None  # resolved or refused
        }
        all_ends = [*ends.values(), *(row["ended_at"] for row in rows.values())]
        newest = max((ended for ended in all_ends if ended is not None), default=None)
        if newest is None or newest - KEPT <= self.ended_until:
            return
        self.ended_until, self._is_saved = newest - KEPT, False
        for alert in self._alerts.values():
            alert.former = {id: at for id, at in alert.former.items() if at > self.ended_until}
        for id, ended in ends.items():
            if ended is not None and ended <= self.ended_until:
                del self._alerts[id]

    # What has happened to a notice

    def begin(self, notice: IncidentNotice) -> None:
        """Record that a notice of `pending` is about to be sent. An unconfirmed one is sent as it is."""
        if self.is_unconfirmed(notice):
            return
        alert = self._alerts.get(notice.id)
        self._before[notice.id] = alert and replace(alert)
        if alert is None:
            alert = self._alerts[notice.id] = new_alert(notice)
            if notice.incident["kind"] == MISSED:
                rows = (missed.incident for missed in self._missed)
                alert.former = {str(row["incident_id"]): row["ended_at"] for row in rows}
                self._missed = []
        alert.state, alert.notice, alert.episode = AlertState.UNCONFIRMED, notice, notice.episode
        alert.strikes, self._is_saved = 0, False

    def confirm(self, notice: IncidentNotice) -> None:
        """Record that the sink has accepted a notice."""
        alert = self._settle(notice, AlertState(notice.status))
        if not alert.is_counted:
            alert.is_counted, row = True, notice.incident
            self.totals[str(row["cluster_id"]), str(row["kind"])] += 1

    def keep(self, notices: Iterable[IncidentNotice]) -> None:
        """Record that notices may have arrived."""
        for notice in notices:
            self._before.pop(notice.id, None)

    def take_back(self, ids: Iterable[str]) -> None:
        """Record that the notices of alerts have not arrived, unless they may have arrived by an earlier attempt."""
        for id in self._before.keys() & ids:
            alert = self._before.pop(id)
            self._is_saved = False
            if alert is None:
                del self._alerts[id]
            else:
                self._alerts[id] = alert

    def strike(self, notice: IncidentNotice, reason: str) -> None:
        """Count that the sink failed at an unconfirmed notice while it accepted others."""
        alert = self._alerts[notice.id]
        if alert.strikes + 1 >= STRIKES:
            self.bury(notice, reason)
        else:
            alert.strikes, self._is_saved = alert.strikes + 1, False

    def bury(self, notice: IncidentNotice, reason: str) -> None:
        """Make a notice that was begun a dead letter."""
        attempts = self._alerts[notice.id].strikes + 1
        now = datetime.now(UTC).isoformat()
        letter = DeadLetter(now, notice.id, reason, attempts, notice.as_json())
        self.dead_letters = [*self.dead_letters, letter][-DEAD_LETTERS_KEPT:]
        self.dead_letter_count += 1
        is_refused = notice.id in self._before and notice.status is NoticeStatus.FIRING
        self._settle(notice, AlertState.REFUSED if is_refused else AlertState(notice.status))

    def end_round(self, *, accepted: int, failed: int) -> None:
        """Record the outcome of a round; a sink is available again once it lacks nothing."""
        self.take_back(self._before)
        since = self.unavailable_since
        if not failed and not self._missed:
            since = None
        elif failed and not accepted:
            since = since or datetime.now(UTC)
        self._is_saved &= since == self.unavailable_since
        self.unavailable_since = since

    def _settle(self, notice: IncidentNotice, state: AlertState) -> SentAlert:
        alert = self._alerts[notice.id]
        self._before.pop(notice.id, None)
        is_firing = state is AlertState.FIRING
        # The end of a withdrawn incident or a summary is the time of the driver, which must not decide which polls of
        # another time are too old.
        is_of_driver = notice.incident["kind"] == MISSED or _is_withdrawn(notice)
        ended = None if is_of_driver else notice.incident["ended_at"]
        alert.state, alert.notice = state, notice if is_firing else None
        alert.ended_at = None if is_firing else ended or alert.first_sign_at
        self._is_saved = False
        return alert

    # The file

    def _load(self, number: int | None) -> None:
        from pyarrow.fs import FileSelector, FileType

        infos = self._system.get_file_info(FileSelector(self._folder, allow_not_found=True, recursive=False))
        files = {info.path: info for info in infos if info.type == FileType.File}
        # The ledger of the previous owner, unless this owner has written one.
        paths = [path for path in files if re.fullmatch(r"ledger-[0-9]+\.json", path.rpartition("/")[2])]
        path = max((path for path in paths if number is None or path <= self._path), default=None)
        if path is None:
            return
        with self._system.open_input_stream(path) as stream:
            content = stream.read()
        try:
            values = json.loads(content)
            self._alerts = {id: SentAlert.from_json(alert) for id, alert in values["alerts"].items()}
            self.ended_until = datetime.fromisoformat(values["ended_until"])
            self.dead_letters = [DeadLetter(**letter) for letter in values["dead_letters"]]
            self.dead_letter_count = values["dead_letter_count"]
            since = values["unavailable_since"]
            self.unavailable_since = since and datetime.fromisoformat(since)
            self.totals = Counter({(cluster, kind): count for cluster, kind, count in values["totals"]})
        except (ValueError, LookupError, TypeError, AttributeError) as error:  # not JSON, or not a ledger
            # What the sink has received is unknown: it gets what lasts, and what has ended since the last write.
            log.error("%s is damaged: the sink begins again, and receives all open incidents (%s)", path, error)
            if number is None:
                return
            self._system.move(path, f"{path}.damaged")
            self._alerts = {}
            self.start(files[path].mtime)
        self.is_new = False

    def save(self) -> None:
        """Write the ledger if it has changed since the last write."""
        if self._is_saved:
            return
        values = {
            "ended_until": self.ended_until,
            "unavailable_since": self.unavailable_since,
            "dead_letters": [asdict(letter) for letter in self.dead_letters],
            "dead_letter_count": self.dead_letter_count,
            "totals": [[*labels, count] for labels, count in self.totals.items()],
            "alerts": {id: alert.as_json() for id, alert in self._alerts.items()},
        }
        content = json.dumps(values, default=datetime.isoformat).encode()
        if self._location.is_path:
            _replace(Path(self._location.native) / self._path, content)
        else:
            with self._system.open_output_stream(self._path) as stream:  # an object appears as a whole
                stream.write(content)
        self._is_saved = True


def sinks_with_ledgers(out: str) -> list[str]:
    """Return the names of the sinks that have a ledger, sorted."""
    from pyarrow.fs import FileSelector

    infos = Location.parse(out).files().get_file_info(FileSelector(FOLDER, allow_not_found=True, recursive=True))
    return sorted({info.path.split("/")[1] for info in infos if info.path.count("/") > 1})


def _next_notice(alert: SentAlert, row: Mapping[str, Any] | None) -> IncidentNotice | None:
    """Return the notice that an alert needs, if any, by the row of gold about it."""
    is_open = row is not None and row["ended_at"] is None
    if alert.state is AlertState.UNCONFIRMED:
        return alert.notice
    if alert.state is AlertState.FIRING and not is_open:
        return IncidentNotice(NoticeStatus.RESOLVED, row or withdrawn(alert), alert.labels, alert.episode)
    if alert.state is AlertState.RESOLVED and is_open:
        assert row is not None
        return IncidentNotice(NoticeStatus.FIRING, row, alert.labels, alert.episode + 1)
    return None


def _order(notice: IncidentNotice) -> tuple[Any, ...]:
    """Order notices by time; what gold has withdrawn comes after its successor."""
    return _is_withdrawn(notice), notice.incident["first_sign_at"], notice.incident["incident_id"]


def _is_withdrawn(notice: IncidentNotice) -> bool:
    return "withdrawn" in (notice.incident.get("attributes") or {})


def _replace(path: Path, content: bytes) -> None:
    """Replace a file so that a crash or a power failure leaves the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content, is_synced=True)
    sync_directory(path.parent)
