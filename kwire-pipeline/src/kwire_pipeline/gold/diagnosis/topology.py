"""Created, deleted, and recreated topics, and added partitions.

The effects of one request are reported in parts: Kafka 3.9 shows the topics of one CreateTopics request three to eight
at a time, and one broker before the other. Signals within the settling time therefore belong together. A topic that
vanishes and reappears within it with the same id was never deleted: a response was half applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from kwire_pipeline.gold.diagnosis.signal import Signal, Signals

CREATED, DELETED = IncidentKind.TOPIC_CREATED, IncidentKind.TOPIC_DELETED
RECREATED, EXPANDED = IncidentKind.TOPIC_RECREATED, IncidentKind.PARTITIONS_ADDED

APPLIED_WITHIN = 3_000_000
"""Maximum time in microseconds in which a broker applies a new topic. On the recordings, half applied topics last at
most 2 s."""

_CAUSES = {
    CREATED: "topics appeared that did not exist before",
    DELETED: "topics vanished at most brokers and did not reappear",
    RECREATED: "a topic reappeared with a new id: it was deleted and created again",
    EXPANDED: "partitions were added to existing topics",
}


def find(signals: Signals) -> list[Incident]:
    """Return bursts of changes of the topic list by time."""
    open_by_kind: dict[IncidentKind, Incident] = {}
    incidents: list[Incident] = []
    for kind, signal in _classified(signals):
        incident = open_by_kind.get(kind)
        if incident is None or signal.at - (incident.ended_at or 0) > signals.settle:
            incident = Incident.of(kind, _CAUSES[kind], signal, Sign.TOPICS)
            open_by_kind[kind] = incident
            incidents.append(incident)
        incident.ended_at = signal.at
        incident.topics.add(signal.topic or "")
        incident.partitions.add(signal)
        if kind == RECREATED:
            incident.attributes[f"{signal.topic}: topic_id"] = " -> ".join(
                signal.detail.get(name, "(none)") for name in ("was_topic_id", "topic_id")
            )
    return incidents


def _classified(signals: Signals) -> list[tuple[IncidentKind, Signal]]:
    """Return the signals that belong to an incident, each with the kind of the incident."""
    classified: list[tuple[IncidentKind, Signal]] = []
    alive: dict[tuple[str, str], int] = {}
    appeared: dict[tuple[str, str], tuple[IncidentKind, int]] = {}
    current_ids: dict[str, str] = {}
    # Of two signals at one time the end comes first: a topic was deleted and recreated between two polls.
    events = sorted(
        signals.of(SignalKind.PARTITIONS_APPEARED, SignalKind.PARTITIONS_VANISHED),
        key=lambda signal: (signal.at, signal.kind == SignalKind.PARTITIONS_APPEARED),
    )
    for position, signal in enumerate(events):
        topic = signal.topic or ""
        topic_id = signal.detail.get("topic_id", "")
        # Old versions of Metadata do not report ids: without one, a topic is the current one of that name.
        if not topic_id or not current_ids.get(topic, topic_id):
            topic_id = current_ids.get(topic, topic_id)
        incarnation = topic, topic_id
        current_ids[topic] = topic_id
        partitions_before = alive.get(incarnation, int(signal.detail.get("before", "0")))
        if signal.kind == SignalKind.PARTITIONS_VANISHED:
            alive[incarnation] = partitions_before - signal.partitions
            if alive[incarnation] <= 0 and not _reappears(signal, events[position + 1 :], signals):
                classified.append((DELETED, signal))
                del current_ids[topic]
            continue
        alive[incarnation] = partitions_before + signal.partitions
        if "initial" in signal.detail:
            continue
        kind, last = appeared.get(incarnation, (None, 0))
        if partitions_before > 0:
            # Brokers apply a new topic within seconds: what a later one of rare polls adds was not part of it.
            if kind is None or signal.at - last > min(signals.settle, max(APPLIED_WITHIN, signals.interval // 2)):
                kind = EXPANDED
        elif kind is not None or signal.detail.get("was_topic_id", "") == signal.detail.get("topic_id"):
            continue  # the same topic as before
        else:
            kind = RECREATED if "known" in signal.detail else CREATED
        appeared[incarnation] = (kind, signal.at)
        classified.append((kind, signal))
    return classified


def _reappears(vanished: Signal, later: list[Signal], signals: Signals) -> bool:
    """Return whether the topic reappears within the settling time: unchanged, or recreated before the next poll."""
    for signal in later:
        after = signal.at - vanished.at
        if after > signals.settle:
            return False
        if signal.kind == SignalKind.PARTITIONS_APPEARED and signal.topic == vanished.topic:
            same = signal.detail.get("topic_id") == vanished.detail.get("topic_id")
            return same or after <= signals.interval // 2
    return False
