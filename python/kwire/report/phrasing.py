"""Incidents, times and numbers in words.

Rules of this file: plain text; whoever puts it into a page escapes it. Times are UTC, and the page says so once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.report.cluster_history import ClusterStory, Incident

OUTAGES = {
    "broker_killed": "was killed or crashed",
    "broker_paused": "was stopped: connections stay open, nothing answers",
    "broker_lost": "was lost",
    "controlled_shutdown": "was shut down in order",
}
RETURNS = {
    "broker_restarted": "was started again",
    "broker_resumed": "went on",
    "broker_returned": "came back",
}
MOVES = {"reassignment", "preferred_election", "leaders_moved"}
TOPICS = {"topic_created", "topic_deleted", "topic_recreated", "partitions_added"}

REASONS = {
    "preferred": "to the preferred replica",
    "lost": "the leader before was out of sync",
    "reassigned": "replicas were moved",
    "offline": "nobody could lead",
    "returned": "the same led again",
    "other": "for another reason",
}
"""Of leader moves, as gold names them."""


def group(incident: Incident) -> str:
    """What kind of thing it is, for its colour: outage, return, work, or setting."""
    if incident.kind in OUTAGES or incident.kind == "replica_lagging":
        return "outage"
    if incident.kind in RETURNS:
        return "return"
    return "setting" if incident.kind == "config_changed" else "work"


def lane(incident: Incident) -> str:
    """The line of the picture that it is drawn on."""
    if incident.kind == "controller_moved":
        return "controller"
    if incident.broker is not None:
        return f"broker {incident.broker}"
    if incident.kind in TOPICS:
        return "topics"
    return "moves" if incident.kind in MOVES else "settings"


def title(incident: Incident) -> str:
    """What happened, in a few words."""
    kind, count = incident.kind, incident.partitions
    if kind in OUTAGES or kind in RETURNS:
        return f"Broker {incident.broker} {(OUTAGES | RETURNS)[kind].partition(':')[0]}"
    topics = _some_topics(incident)
    match kind:
        case "topic_created":
            return f"{topics} created"
        case "topic_deleted":
            return f"{topics} deleted"
        case "topic_recreated":
            return f"{topics} deleted and made again"
        case "partitions_added":
            return f"{counted(count, 'partition')} added to {lower_first(topics)}"
        case "reassignment":
            return f"{counted(count, 'partition')} of {lower_first(topics)} moved to other brokers"
        case "preferred_election":
            return f"Preferred replicas took the lead of {counted(count, 'partition')}"
        case "controller_moved":
            return f"The controller moved from {incident.attributes.get('from', '?')} to {_new_controller(incident)}"
        case "config_changed":
            return _setting(incident, topics)
        case "replica_lagging":
            return f"Broker {incident.broker} fell behind with {counted(count, 'partition')}"
        case "leaders_moved":
            return f"{counted(count, 'partition')} got another leader for no cause that can be seen"
    return kind.replace("_", " ").capitalize()


def _new_controller(incident: Incident) -> str:
    return incident.attributes.get("to", "?" if incident.broker is None else str(incident.broker))


def _setting(incident: Incident, topics: str) -> str:
    if incident.attributes.get("scope") == "cluster":
        return "The cluster's default settings changed"
    return f"Settings of {lower_first(topics)} changed" if incident.topic_count else "Settings changed"


def _some_topics(incident: Incident) -> str:
    if incident.topic_count == 1 and incident.topics:
        return f"Topic {incident.topics[0]}"
    return counted(incident.topic_count, "topic")


def impact(incident: Incident) -> str:
    """What it touched, the worst first."""
    told = [
        (incident.offline, "without a leader"),
        (incident.under_replicated, "lacked a replica"),
        (incident.electing, "waited for a new leader"),
        (incident.leaders_moved, "got another leader"),
    ]
    said = ", ".join(f"{number(count)} {what}" for count, what in told if count)
    if said:
        return f"{said} (partitions)"
    if incident.partitions:
        return counted(incident.partitions, "partition")
    shown = [f"{key}: {value}" for key, value in sorted(incident.attributes.items()) if "->" in value]
    rest = len(shown) - 2
    return "; ".join(shown[:2]) + (f" and {number(rest)} more" if rest > 0 else "")


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def number(value: float) -> str:
    return f"{value:,.0f}"


def counted(count: int, what: str) -> str:
    return f"{number(count)} {what}{'' if count == 1 else 's'}"


def percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{share:.0f} %" if share >= 1 or not part else "under 1 %"


def moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1e6, tz=UTC)


def day(micros: int) -> str:
    return f"{moment(micros):%Y-%m-%d}"


def clock(micros: int, story: ClusterStory | None = None) -> str:
    """Time of day; with the day before it where the story has more than one."""
    if story is not None and day(story.began) != day(story.ended):
        return f"{moment(micros):%m-%d %H:%M:%S}"
    return f"{moment(micros):%H:%M:%S}"


def lasting(micros: float) -> str:
    """A duration in its two largest units."""
    seconds = micros / 1e6
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    units: Sequence[tuple[int, str]] = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
    whole = round(seconds)
    for (size, name), (less, smaller) in pairwise(units):
        if whole >= size:
            rest = whole % size // less
            return f"{whole // size} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def millis(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"
