"""Stories: what happened to one topic or broker, in the order of time.

They repeat what other parts of the page show, ordered by subject, so that a reader can search for a name. Only topics
and brokers of which something is known to have happened have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire.report.phrasing import format_time, incident_title, pluralize

if TYPE_CHECKING:
    from kwire.report.cluster_history import ClusterHistory

LONGEST = 20
"""The most events of a story; the last ones are kept."""

MOST = 2_000
"""The most stories of topics in a page."""


class Story(NamedTuple):
    """The events of a topic or broker: times, which are empty where an event has none, and texts."""

    subject: str
    events: list[tuple[str, str]]
    hidden: int


def stories(history: ClusterHistory) -> list[Story]:
    """Return the stories of brokers by id, then those of topics by name."""
    brokers: dict[int, list[tuple[int, str]]] = {}
    topics: dict[str, list[tuple[int, str]]] = {}
    for incident in history.incidents:
        title = incident_title(incident)
        lasting = " (ongoing)" if incident.ended is None else ""
        if incident.broker is not None:
            brokers.setdefault(incident.broker, []).append((incident.began, f"{title}{lasting}: {incident.cause}"))
        for topic in incident.topics:
            topics.setdefault(topic, []).append((incident.began, f"{title}{lasting}"))
    for change in history.config_changes:
        text = f"{change.key}: {_shown(change.old_value)} \u2192 {_shown(change.value)}"
        if change.resource_type == "topic":
            topics.setdefault(change.resource, []).append((change.at, text))
        elif change.resource.isdigit():
            brokers.setdefault(int(change.resource), []).append((change.at, text))
    for topic, partition, flag, since in history.unhealthy:
        state = flag.replace("_", "-")
        topics.setdefault(topic, []).append((since, f"partition {partition} is {state} (ongoing)"))
    totals = _totals(history)
    for topic in totals:
        topics.setdefault(topic, [])
    found = [_story(f"broker {broker}", brokers[broker], [], history) for broker in sorted(brokers)]
    found += [
        _story(f"topic {topic}", topics[topic], totals.get(topic, []), history) for topic in sorted(topics)[:MOST]
    ]
    return found


def _totals(history: ClusterHistory) -> dict[str, list[str]]:
    """Return sentences without a time, by topic."""
    found: dict[str, list[str]] = {}
    for topic, partition, moves in history.most_moved:
        found.setdefault(topic, []).append(f"the leader of partition {partition} moved {pluralize(moves, 'time')}")
    for topic, partition, changes, _ in history.isr_churn:
        found.setdefault(topic, []).append(f"the ISR of partition {partition} changed {pluralize(changes, 'time')}")
    return found


def _story(subject: str, events: list[tuple[int, str]], totals: list[str], history: ClusterHistory) -> Story:
    ordered = [(format_time(at, history), text) for at, text in sorted(events)]
    ordered += [("", text) for text in totals]
    return Story(subject, ordered[-LONGEST:], max(0, len(ordered) - LONGEST))


def _shown(value: str | None) -> str:
    return "unset" if value is None else value
