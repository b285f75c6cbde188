"""Subscriptions: sinks with the filters that choose their incidents."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kwire_pipeline.sinks.notice import Severity, severity_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kwire_pipeline.sinks.sink import IncidentSink


@dataclass(frozen=True, slots=True)
class IncidentFilter:
    """A condition on incidents. An empty attribute restricts nothing.

    Attributes:
        kinds: kinds of incidents.
        severities: severities of their kinds.
        clusters: patterns of cluster ids, with the wildcards of `fnmatch`.
        topics: patterns of topics; an affected topic must match one of them. An incident matches too if it names no
            topic, such as `cluster_unreachable`, or more than its row lists: a filter must not hide an outage.
    """

    kinds: Collection[str] = ()
    severities: Collection[str] = ()
    clusters: Collection[str] = ()
    topics: Collection[str] = ()

    def accepts(self, incident: Mapping[str, Any]) -> bool:
        """Return whether a row of gold's `incidents` meets the condition."""
        kind, topics = str(incident["kind"]), incident["topics"] or ()
        return (
            (not self.kinds or kind in self.kinds)
            and (not self.severities or severity_of(kind) in self.severities)
            and (not self.clusters or _matches(str(incident["cluster_id"]), self.clusters))
            and (
                not self.topics
                or not topics
                or incident["topic_count"] > len(topics)
                or any(_matches(topic, self.topics) for topic in topics)
            )
        )


TROUBLE = IncidentFilter(severities=(Severity.CRITICAL, Severity.WARNING))
"""The default filter: changes that operators make on purpose do not need an alert."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A sink, and the incidents that it receives."""

    sink: IncidentSink
    filter: IncidentFilter = TROUBLE


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
