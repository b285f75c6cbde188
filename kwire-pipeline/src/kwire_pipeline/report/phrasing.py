"""English phrases for incidents, times, and numbers.

All phrases are plain text; the page escapes them. Times are UTC, and the page says so once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_pipeline.report.cluster_history import ClusterHistory, ReportedIncident

OUTAGES = {
    "broker_killed": "was killed or crashed",
    "broker_paused": "was paused: its connections stay open, but it does not answer",
    "broker_lost": "was lost",
    "controlled_shutdown": "was shut down cleanly",
}
CLUSTER_UNREACHABLE = "cluster_unreachable"
OTHER_OUTAGES = {CLUSTER_UNREACHABLE, "replica_lagging", "group_stalled", "log_dir_offline", "disk_almost_full"}
RECOVERIES = {
    "broker_restarted": "was restarted",
    "broker_resumed": "resumed",
    "broker_returned": "came back",
}
LEADER_AND_REPLICA_MOVES = {"reassignment", "preferred_election", "leaders_moved"}
TOPIC_CHANGES = {"topic_created", "topic_deleted", "topic_recreated", "partitions_added"}

LEADER_MOVE_REASONS = {
    "preferred": "to the preferred replica",
    "lost": "the previous leader was out of sync",
    "reassigned": "replicas were reassigned",
    "offline": "no replica could lead",
    "returned": "the same leader came back",
    "other": "for another reason",
}
"""The reasons in gold's `leader_moves`."""


class IncidentGroup(Enum):
    """The category of an incident, which decides its color."""

    OUTAGE = "outage"
    RECOVERY = "recovery"
    ADMINISTRATION = "topic and leader changes"
    CONFIGS = "configs"


def incident_group(incident: ReportedIncident) -> IncidentGroup:
    """Return the category of an incident."""
    if incident.kind in OUTAGES or incident.kind in OTHER_OUTAGES:
        return IncidentGroup.OUTAGE
    if incident.kind in RECOVERIES:
        return IncidentGroup.RECOVERY
    return (
        IncidentGroup.CONFIGS if incident.kind in {"config_changed", "config_drifted"} else IncidentGroup.ADMINISTRATION
    )


def incident_title(incident: ReportedIncident) -> str:
    """Describe an incident in a few words."""
    kind, count = incident.kind, incident.partitions
    if kind in OUTAGES or kind in RECOVERIES:
        return f"Broker {incident.broker} {(OUTAGES | RECOVERIES)[kind].partition(':')[0]}"
    topics = _topics(incident)
    # A kind without a sentence here is shown by its name, so a report of newer tables still reads well.
    match kind:
        case "cluster_unreachable":
            return "No broker answered"
        case "topic_created":
            return f"{topics} created"
        case "topic_deleted":
            return f"{topics} deleted"
        case "topic_recreated":
            return f"{topics} deleted and recreated"
        case "partitions_added":
            return f"{pluralize(count, 'partition')} added to {lower_first(topics)}"
        case "reassignment":
            return f"{pluralize(count, 'partition')} of {lower_first(topics)} reassigned to other brokers"
        case "preferred_election":
            return f"Preferred leaders elected for {pluralize(count, 'partition')}"
        case "controller_moved":
            return f"The controller moved from {incident.attributes.get('from', '?')} to {_new_controller(incident)}"
        case "config_changed":
            return _changed_configs(incident, topics)
        case "replica_lagging":
            return f"Broker {incident.broker} fell behind on {pluralize(count, 'partition')}"
        case "group_stalled":
            return f"Group {incident.attributes.get('group', '?')} stalled on {pluralize(count, 'partition')}"
        case "log_dir_offline":
            return f"Log directory {incident.attributes.get('log_dir', '?')} of broker {incident.broker} is offline"
        case "disk_almost_full":
            return f"Log directory {incident.attributes.get('log_dir', '?')} of broker {incident.broker} is almost full"
        case "config_drifted":
            return f"Configs of {incident.attributes.get('resource', '?')} differ from the desired ones"
        case "leaders_moved":
            return f"{pluralize(count, 'partition')} got a new leader for an unknown reason"
    return upper_first(kind.replace("_", " "))


def _new_controller(incident: ReportedIncident) -> str:
    return incident.attributes.get("to", "?" if incident.broker is None else str(incident.broker))


def _changed_configs(incident: ReportedIncident, topics: str) -> str:
    if incident.attributes.get("scope") == "cluster":
        return "The cluster's default configs changed"
    return f"Configs of {lower_first(topics)} changed" if incident.topic_count else "Configs changed"


def _topics(incident: ReportedIncident) -> str:
    if incident.topic_count == 1 and incident.topics:
        return f"Topic {incident.topics[0]}"
    return pluralize(incident.topic_count, "topic")


def incident_impact(incident: ReportedIncident) -> str:
    """Describe what an incident affected, the most serious effect first."""
    effects = [
        (incident.offline, "without a leader"),
        (incident.under_replicated, "under-replicated"),
        (incident.electing, "waited for a leader election"),
        (incident.leaders_moved, "got a new leader"),
    ]
    affected = ", ".join(f"{format_number(count)} {effect}" for count, effect in effects if count)
    if affected:
        return f"{affected} (partitions)"
    if incident.partitions:
        return pluralize(incident.partitions, "partition")
    changes = [f"{key}: {value}" for key, value in sorted(incident.attributes.items()) if "->" in value]
    rest = len(changes) - 2
    return "; ".join(changes[:2]) + (f" and {format_number(rest)} more" if rest > 0 else "")


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def format_number(value: float) -> str:
    return f"{value:,.0f}"


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun, such as `2 partitions`."""
    return f"{format_number(count)} {noun}{'' if count == 1 else 's'}"


def format_percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{share:.0f} %" if share >= 1 or not part else "under 1 %"


def utc_time(micros: int) -> datetime:
    """Convert microseconds since 1970 to a datetime."""
    return datetime.fromtimestamp(micros / 1e6, tz=UTC)


def format_date(micros: int) -> str:
    return f"{utc_time(micros):%Y-%m-%d}"


def format_time(micros: int, history: ClusterHistory | None = None) -> str:
    """Format a time of day, preceded by the date where the history covers several days."""
    if history is not None and format_date(history.began) != format_date(history.ended):
        return f"{utc_time(micros):%m-%d %H:%M:%S}"
    return f"{utc_time(micros):%H:%M:%S}"


def format_duration(micros: float) -> str:
    """Format a duration in its two largest units."""
    seconds = micros / 1e6
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    units: Sequence[tuple[int, str]] = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
    whole = round(seconds)
    for (size, name), (smaller_size, smaller_name) in pairwise(units):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size} {name}" + (f" {rest} {smaller_name}" if rest else "")
    return f"{whole} s"


def format_millis(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"
