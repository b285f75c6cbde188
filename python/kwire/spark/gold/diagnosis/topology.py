"""Topics made, deleted and made anew, and partitions added.

What one request did comes in pieces: Kafka 3.9 shows the topics of one CreateTopics call by threes and eights, and one
broker before the other. So what follows within the settling time belongs together. A topic that vanishes and comes
back within it with the same id was never gone: an answer was half applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident

if TYPE_CHECKING:
    from kwire.spark.gold.diagnosis.signal import Signal, Signals

CREATED, DELETED, RECREATED, GREW = "topic_created", "topic_deleted", "topic_recreated", "partitions_added"

_CAUSES = {
    CREATED: "topics that were not there before",
    DELETED: "topics are gone at most brokers, and stay so",
    RECREATED: "a topic of a known name came with a new id: deleted and made again",
    GREW: "more partitions in topics that were there",
}


def find(signals: Signals) -> list[Incident]:
    """Bursts of changes of the list of topics, by time."""
    open_by_kind: dict[str, Incident] = {}
    found: list[Incident] = []
    for kind, signal in _steps(signals):
        incident = open_by_kind.get(kind)
        if incident is None or signal.at - (incident.ended_at or 0) > signals.settle:
            began = signal.not_before if signal.not_before is not None else signal.at
            incident = Incident(kind, _CAUSES[kind], min(began, signal.at), signal.at, "topics")
            incident.sign("topics", signal.at)
            open_by_kind[kind] = incident
            found.append(incident)
        incident.ended_at = signal.at
        incident.topics.add(signal.topic or "")
        incident.partitions += signal.partitions
        if kind == RECREATED:
            incident.attributes[f"{signal.topic}: topic_id"] = " -> ".join(
                signal.detail.get(name, "(none)") for name in ("was_topic_id", "topic_id")
            )
    return found


def _steps(signals: Signals) -> list[tuple[str, Signal]]:
    """Each appearance and disappearance under the kind of incident that it belongs to."""
    steps: list[tuple[str, Signal]] = []
    alive: dict[tuple[str, str], int] = {}
    birth: dict[tuple[str, str], tuple[str, int]] = {}
    # Of two at one instant the end comes first: that is a topic deleted and made anew between two polls.
    events = sorted(signals.of("appeared", "vanished"), key=lambda signal: (signal.at, signal.kind == "appeared"))
    for position, signal in enumerate(events):
        name = signal.topic or ""
        incarnation = (name, signal.detail.get("topic_id", ""))
        known = alive.get(incarnation, int(signal.detail.get("before", "0")))
        if signal.kind == "vanished":
            alive[incarnation] = known - signal.partitions
            if alive[incarnation] <= 0 and not _reborn(signal, events[position + 1 :], signals):
                steps.append((DELETED, signal))
            continue
        alive[incarnation] = known + signal.partitions
        if "initial" in signal.detail:
            continue
        kind, last = birth.get(incarnation, ("", 0))
        if known > 0 and not (kind and signal.at - last <= signals.settle):
            kind = GREW
        elif known <= 0 and (kind or signal.detail.get("was_topic_id", "") == signal.detail.get("topic_id")):
            continue  # the same topic: it flickered
        elif known <= 0:
            kind = RECREATED if "known" in signal.detail else CREATED
        birth[incarnation] = (kind, signal.at)
        steps.append((kind, signal))
    return steps


def _reborn(vanished: Signal, later: list[Signal], signals: Signals) -> bool:
    """Whether nobody saw the topic missing: it flickered, or was made anew before the next poll."""
    for signal in later:
        after = signal.at - vanished.at
        if after > signals.settle:
            return False
        if signal.kind == "appeared" and signal.topic == vanished.topic:
            same = signal.detail.get("topic_id") == vanished.detail.get("topic_id")
            return same or after <= signals.interval // 2
    return False
