"""The notices that a sink receives about an incident: `firing` when it is new, and `resolved` when it has ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from kwire._util.readable import counted
from kwire_pipeline.gold.diagnosis.incident import IncidentKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OUTAGE_KINDS = frozenset({"broker_killed", "broker_paused", "broker_lost", "controlled_shutdown"})
"""Kinds between which the diagnosis of an outage may change while more signs are seen."""

MISSED = "notices_missed"
"""The kind of a notice that counts incidents which a sink has missed; no row of gold has it."""

TIMES = ("began_at", "first_sign_at", "ended_at")
"""The columns of an incident that are times."""

_COUNTS = ("partition_count", "under_replicated", "offline", "electing", "leaders_moved", "topic_count")

_LABELS = ("incident_id", "cluster_id", "kind", "broker_id", "caused_by")


class Severity(StrEnum):
    """The severity of an incident, most severe first. The values are those of Prometheus' own alerts."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


SEVERITIES: Mapping[str, Severity] = {
    IncidentKind.BROKER_KILLED: Severity.CRITICAL,
    IncidentKind.BROKER_PAUSED: Severity.CRITICAL,
    IncidentKind.BROKER_LOST: Severity.CRITICAL,
    IncidentKind.CLUSTER_UNREACHABLE: Severity.CRITICAL,
    IncidentKind.LOG_DIR_OFFLINE: Severity.CRITICAL,
    IncidentKind.CONTROLLED_SHUTDOWN: Severity.WARNING,
    IncidentKind.LEADERS_MOVED: Severity.WARNING,
    IncidentKind.REPLICA_LAGGING: Severity.WARNING,
    IncidentKind.GROUP_STALLED: Severity.WARNING,
    IncidentKind.DISK_ALMOST_FULL: Severity.WARNING,
    IncidentKind.CONFIG_DRIFTED: Severity.WARNING,
    IncidentKind.TOPIC_RECREATED: Severity.WARNING,
    IncidentKind.TOPIC_CREATED: Severity.INFO,
    IncidentKind.TOPIC_DELETED: Severity.INFO,
    IncidentKind.PARTITIONS_ADDED: Severity.INFO,
    IncidentKind.CONFIG_CHANGED: Severity.INFO,
    IncidentKind.REASSIGNMENT: Severity.INFO,
    IncidentKind.PREFERRED_ELECTION: Severity.INFO,
    IncidentKind.CONTROLLER_MOVED: Severity.INFO,
    IncidentKind.BROKER_RESTARTED: Severity.INFO,
    IncidentKind.BROKER_RESUMED: Severity.INFO,
    IncidentKind.BROKER_RETURNED: Severity.INFO,
}
"""The severity of each kind; docs/live.md has the table and its reasons."""


def severity_of(kind: str) -> Severity:
    """Return the severity of a kind; a kind that a later version of gold has stored is a warning."""
    return SEVERITIES.get(kind, Severity.WARNING)


class NoticeStatus(StrEnum):
    """The state of an incident in a notice. The values are Alertmanager's."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class IncidentNotice:
    """A new or an ended incident.

    Attributes:
        status: `FIRING` for a new incident that lasts, `RESOLVED` for one that has ended.
        incident: the row of gold's `incidents`, with timezone-aware times.
        labels: the identity of the incident, as Alertmanager's labels: those of the first notice about the incident,
            whatever its row says by now. The first notice makes them: `alertname` is Kafka and the kind in camel case.
        episode: 1, and one more each time an incident that had ended turns out to last.
    """

    status: NoticeStatus
    incident: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    episode: int = 1

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "labels", _labels_of(self.incident))

    @classmethod
    def from_json(cls, notice: Mapping[str, Any], labels: Mapping[str, str], episode: int = 1) -> Self:
        """Return the notice of these values of `as_json`."""
        row = {name: value for name, value in notice.items() if name != "status"}
        row |= {name: _time(row[name]) for name in TIMES if name in row}
        row |= {"seen_at": {sign: _time(at) for sign, at in (row.get("seen_at") or {}).items()}}
        return cls(NoticeStatus(notice["status"]), row, labels, episode)

    @property
    def id(self) -> str:
        """The id that the incident had in its first notice; another diagnosis of an outage has another id in gold."""
        return self.labels["incident_id"]

    @property
    def key(self) -> str:
        """The identity of the notice: a repeated notice has the same key."""
        return f"{self.id}-{self.status}" if self.episode == 1 else f"{self.id}-{self.status}-{self.episode}"

    @property
    def annotations(self) -> dict[str, str]:
        """Further facts as text, as Alertmanager's annotations."""
        incident = self.incident
        facts = {name: str(incident[name]) for name in _COUNTS if incident[name]}
        facts |= {str(name): str(value) for name, value in (incident["attributes"] or {}).items()}
        return {"summary": self.summary, "description": str(incident["cause"]), **facts}

    @property
    def summary(self) -> str:
        """One sentence about the incident."""
        incident = self.incident
        if incident["kind"] == MISSED:
            return str(incident["cause"])
        subject = "" if incident["broker_id"] is None else f" (broker {incident['broker_id']})"
        what = str(incident["kind"]).replace("_", " ")
        return f"Kafka cluster {incident['cluster_id'] or 'without an id'}: {what}{subject}"

    def as_json(self) -> dict[str, Any]:
        """Return the status and the row of the incident as values of JSON; times are ISO 8601."""
        return {"status": str(self.status), **{name: _plain(value) for name, value in self.incident.items()}}


def summary_of(missed: Sequence[IncidentNotice], since: datetime) -> IncidentNotice:
    """Return the notice that counts incidents which began and ended while a sink accepted nothing.

    Args:
        missed: the notices that it stands for, at least one.
        since: the time since which the sink has accepted nothing.
    """
    now = datetime.now(UTC)
    counts = Counter(str(notice.incident["kind"]) for notice in missed).most_common()
    clusters = {str(notice.incident["cluster_id"]) for notice in missed}
    severity = min((Severity(notice.labels["severity"]) for notice in missed), key=list(Severity).index)
    row: dict[str, Any] = {
        "incident_id": f"missed-{now:%Y%m%dT%H%M%S.%fZ}",
        "cluster_id": clusters.pop() if len(clusters) == 1 else "",
        "kind": MISSED,
        "cause": f"{counted(len(missed), 'Kafka incident')} began and ended while this sink accepted no notices, since "
        f"{since:%Y-%m-%d %H:%M:%S} UTC: {', '.join(f'{count:,} {kind}' for kind, count in counts)}",
        "caused_by": None,
        "broker_id": None,
        "began_at": since,
        "first_sign_at": max(notice.incident["ended_at"] for notice in missed),  # a time of gold, unlike the others
        "first_sign": MISSED,
        "seen_at": {},
        "ended_at": now,
        "topics": [],
        "attributes": {kind: str(count) for kind, count in counts},
        **dict.fromkeys(_COUNTS, 0),
    }
    return IncidentNotice(NoticeStatus.RESOLVED, row, {**_labels_of(row), "severity": str(severity)})


def _labels_of(row: Mapping[str, Any]) -> dict[str, str]:
    kind = "".join(word.title() for word in str(row["kind"]).split("_"))
    named = {name: str(row[name]) for name in _LABELS if row[name] is not None}
    return {"alertname": f"Kafka{kind}", "severity": str(severity_of(str(row["kind"]))), **named}


def rfc3339(time: datetime | None) -> str:
    """Return a time as Alertmanager writes it; its zero time for None."""
    return "0001-01-01T00:00:00Z" if time is None else time.isoformat().replace("+00:00", "Z")


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return rfc3339(value) if isinstance(value, datetime) else value
