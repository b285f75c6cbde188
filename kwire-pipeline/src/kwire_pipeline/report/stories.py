"""Stories: what happened to one topic or broker, in the order of time.

They repeat what other parts of the page show, ordered by subject, so that a reader can search for a name. A topic or
broker has a story only if it has events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.report.phrasing import CLUSTER_UNREACHABLE, format_time, incident_title, pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_pipeline.report.cluster_history import ClusterHistory, ReportedIncident

LONGEST = 20
"""The most events of a story; the last ones are kept."""

LISTED_PARTITIONS = 10
"""The most partitions that an event lists."""


class Story(NamedTuple):
    """The events of a topic or broker: times, which are empty where an event has none, and texts.

    Attributes:
        latest: the time of the last event; the end of the window for what lasts.
    """

    subject: str
    events: list[tuple[str, str]]
    hidden: int
    latest: int


class _Event(NamedTuple):
    at: int
    text: str
    lasts: bool = False


def stories(history: ClusterHistory) -> list[Story]:
    """Return the stories of brokers by id, then the stories of topics by name."""
    brokers: dict[int, list[_Event]] = {}
    topics: dict[str, list[_Event]] = {}
    for incident in history.incidents:
        title = incident_title(incident)
        lasts = incident.ended is None
        lasting = " (ongoing)" if lasts else ""
        for broker in _brokers_of(incident):
            event = _Event(incident.began, f"{title}{lasting}: {incident.cause}", lasts)
            brokers.setdefault(broker, []).append(event)
        for topic in incident.topics:
            topics.setdefault(topic, []).append(_Event(incident.began, f"{title}{lasting}", lasts))
    for change in history.config_changes:
        text = f"{change.key}: {_shown(change.old_value)} \u2192 {_shown(change.value)}"
        if change.resource_type == "topic":
            topics.setdefault(change.resource, []).append(_Event(change.at, text))
        elif change.resource.isdigit():
            brokers.setdefault(int(change.resource), []).append(_Event(change.at, text))
    for (topic, flag), (partitions, since) in history.unhealthy_topics.items():
        text = f"{_named(partitions)} {flag.replace('_', '-')} (ongoing)"
        topics.setdefault(topic, []).append(_Event(since, text, lasts=True))
    totals = _totals(history)
    for topic in totals:
        topics.setdefault(topic, [])
    all_stories = [_story(f"broker {broker}", brokers[broker], [], history) for broker in sorted(brokers)]
    all_stories += [_story(f"topic {topic}", topics[topic], totals.get(topic, []), history) for topic in sorted(topics)]
    return all_stories


def latest_stories(all_stories: Iterable[Story], limit: int) -> list[Story]:
    """Return the `limit` stories with the latest events, in their order."""
    numbered = sorted(enumerate(all_stories), key=lambda entry: -entry[1].latest)
    return [story for _, story in sorted(numbered[:limit], key=lambda entry: entry[0])]


def _brokers_of(incident: ReportedIncident) -> list[int]:
    if incident.broker is not None:
        return [incident.broker]
    brokers = incident.attributes.get("brokers", "") if incident.kind == CLUSTER_UNREACHABLE else ""
    return [int(broker) for broker in brokers.split(", ") if broker]


def _named(partitions: list[int]) -> str:
    """Return the subject of a sentence and its verb."""
    if len(partitions) == 1:
        return f"partition {partitions[0]} is"
    more = len(partitions) - LISTED_PARTITIONS
    listed = ", ".join(map(str, partitions[:LISTED_PARTITIONS])) + (f", and {more} more" if more > 0 else "")
    return f"partitions {listed} are"


def _totals(history: ClusterHistory) -> dict[str, list[str]]:
    """Return sentences without a time, by topic."""
    sentences: dict[str, list[str]] = {}
    for topic, moves in history.moves_of_topics.items():
        sentences.setdefault(topic, []).append(f"leaders moved {pluralize(moves, 'time')}")
    for topic, changes in history.isr_changes_of_topics.items():
        sentences.setdefault(topic, []).append(f"ISRs changed {pluralize(changes, 'time')}")
    return sentences


def _story(subject: str, events: list[_Event], totals: list[str], history: ClusterHistory) -> Story:
    ordered = [(format_time(event.at, history), event.text) for event in sorted(events)]
    ordered += [("", text) for text in totals]
    lasts = any(event.lasts for event in events)
    latest = history.ended if lasts else max((event.at for event in events), default=history.began)
    return Story(subject, ordered[-LONGEST:], max(0, len(ordered) - LONGEST), latest)


def _shown(value: str | None) -> str:
    return "unset" if value is None else value
