"""The incident of gold that an alert is about.

The diagnosis of an outage may change, and with it the id that gold gives it: the incident with the nearest first sign
takes its place. An outage that begins within `FLAPPING` of the end of the last one of its broker is another episode of
the same alert, so a flapping broker is one alert that flaps.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kwire_pipeline.sinks.notice import OUTAGE_KINDS, IncidentNotice
from kwire_pipeline.sinks.sent_alert import AlertState, SentAlert

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

SAME_OUTAGE = timedelta(seconds=60)
"""Maximum move of the first sign of an outage when its diagnosis changes: longer than the session of any broker."""

FLAPPING_KINDS = OUTAGE_KINDS | {"cluster_unreachable"}
"""Kinds of incidents that continue the alert about the last incident of their broker."""

FLAPPING = timedelta(minutes=10)
"""Maximum time from the end of an outage to the next one of the same alert. Chosen, not measured: longer than a
supervisor waits before it starts a broker again."""


def follow(alerts: Collection[SentAlert], rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep one alert for an outage with a new id: nearest first signs first."""
    tracked = {alert.incident_id for alert in alerts}
    gone: dict[str, list[SentAlert]] = defaultdict(list)
    for alert in alerts:
        if alert.incident_id not in rows:
            gone[alert.subject].append(alert)
    new = [row for id, row in rows.items() if id not in tracked]
    pairs = [
        (moved, str(row["incident_id"]), alert)
        for row in new
        for alert in gone.get(subject_of(row), ())
        if (moved := abs(row["first_sign_at"] - alert.first_sign_at)) <= SAME_OUTAGE
    ]
    for _, id, alert in sorted(pairs, key=lambda pair: (pair[0], pair[1], pair[2].incident_id)):
        if alert.incident_id not in rows and id not in tracked:
            alert.incident_id = id
            tracked.add(id)


def follow_flapping(alerts: Collection[SentAlert], rows: Iterable[Mapping[str, Any]]) -> None:
    """Let an outage that begins soon after the last one of its broker be the next episode of that alert."""
    known = {alert.incident_id for alert in alerts}
    new = [row for row in rows if row["ended_at"] is None and str(row["incident_id"]) not in known]
    flapping = {subject_of(row): row for row in new if row["kind"] in FLAPPING_KINDS}
    if not flapping:
        return
    resolved = [alert for alert in alerts if alert.state is AlertState.RESOLVED and alert.subject in flapping]
    latest = {alert.subject: alert for alert in sorted(resolved, key=_end)}
    for subject, alert in latest.items():
        id, ended = str(flapping[subject]["incident_id"]), _end(alert)
        if id not in alert.former and abs(flapping[subject]["first_sign_at"] - ended) <= FLAPPING:
            alert.former[alert.incident_id] = ended
            alert.incident_id, alert.is_counted = id, False


def _end(alert: SentAlert) -> datetime:
    return alert.ended_at or alert.first_sign_at


def subject_of(row: Mapping[str, Any]) -> str:
    """Return the identity of an incident without its kind, if it is an outage, and without its times."""
    kind = "outage" if row["kind"] in OUTAGE_KINDS else row["kind"]
    topic = "" if row["broker_id"] is not None else next(iter(row.get("topics") or ()), "")
    return f"{row['cluster_id']}/{kind}/{row['broker_id']}/{topic}"


def new_alert(notice: IncidentNotice) -> SentAlert:
    """Return the alert of the first notice about an incident."""
    row = notice.incident
    return SentAlert(str(row["incident_id"]), subject_of(row), row["first_sign_at"], dict(notice.labels))


def withdrawn(alert: SentAlert) -> dict[str, Any]:
    """Return the row with which an alert is resolved that gold no longer has."""
    assert alert.notice is not None
    row = dict(alert.notice.incident)
    row["ended_at"] = datetime.now(UTC)
    row["cause"] = "withdrawn: later polls explain its signs by another incident, or by none"
    row["attributes"] = {**(row.get("attributes") or {}), "withdrawn": "true"}
    return row
