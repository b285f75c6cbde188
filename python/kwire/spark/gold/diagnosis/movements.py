"""Replicas and leaders that move without anybody being gone: reassignments, elections, lagging followers.

- A reassignment begins when replica lists change and ends when the last partition has all its new replicas in sync
  and the old ones are off the list. Leaders that move because they are no replicas any more belong to it.
- An election of preferred leaders: leadership goes to the first replica while the leader before is still in sync.
  Somebody asked for it, or the controller did by itself (`auto.leader.rebalance.enable`); metadata cannot tell.
- A replica that leaves ISRs although its broker answers, and nothing else explains it, lags.
- Leaders that move between brokers in sync, not to the preferred one: no cause can be seen. With rare polls this is a
  broker that went and came back between two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.spark.gold.diagnosis.signal import Signal, Signals

REASSIGNMENT, ELECTION, LAG, SHIFT = "reassignment", "preferred_election", "replica_lagging", "leaders_moved"


def reassignments(signals: Signals) -> list[Incident]:
    """Times in which replica lists were changed, by time."""
    found: list[Incident] = []
    now: Incident | None = None
    moving = 0
    for signal in signals.of("replicas", "adding", "added", "reassigned"):
        if signal.kind in {"adding", "added"}:
            moving = max(0, moving + (signal.partitions if signal.kind == "adding" else -signal.partitions))
            if now is not None and signal.kind == "added":
                now.ended_at = None if moving else signal.at
            continue
        late = now is None or (now.ended_at is not None and signal.at - now.ended_at > signals.settle)
        if late and signal.kind == "reassigned":
            continue
        if now is None or late:
            began = signal.not_before if signal.not_before is not None else signal.at
            now = Incident(REASSIGNMENT, "replica lists were changed", began, signal.at, "replicas")
            found.append(now)
        now.ended_at = None if moving else signal.at
        now.topics.update(signal.topics)
        if signal.kind == "reassigned":
            now.leaders_moved += signal.partitions
            now.sign("leaders_moved", signal.at)
        else:
            now.sign("replicas", signal.at)
            if signal.detail.get("step") == "start":
                now.partitions += signal.partitions
    return found


def elections(signals: Signals, reassigned: Iterable[Incident]) -> list[Incident]:
    """Elections of preferred leaders, by time."""
    moves = list(reassigned)

    # A partition that is moved gets its new leader a moment before the old one goes off the list.
    def part_of_a_move(signal: Signal) -> bool:
        return any(move.covers(signal.at, 0) and move.topics.issuperset(signal.topics) for move in moves)

    return _bursts(
        [signal for signal in signals.of("elected") if not part_of_a_move(signal)],
        signals.settle,
        ELECTION,
        "leaders went to the preferred replicas from leaders in good health: asked for, or the automatic rebalance",
    )


def shifts(signals: Signals, explained: Iterable[Incident]) -> list[Incident]:
    """Leaders that moved for no cause that can be seen, by time."""
    others = list(explained)
    moved = [
        signal
        for signal in signals.of("moved", "shifted", "leaderless")
        if not _explained(signal, others, signals.settle, {signal.broker, signal.other})
    ]
    cause = "leaders moved, no cause to be seen; perhaps a broker that was away between two polls"
    return _bursts(moved, signals.settle, SHIFT, cause)


def lags(signals: Signals, explained: Iterable[Incident]) -> list[Incident]:
    """Brokers whose replicas fell out of sync while they answered, by time."""
    others = list(explained)
    now: dict[int, Incident] = {}
    level: dict[int, int] = {}
    found: list[Incident] = []
    for signal in signals.of("isr_left", "healed"):
        broker = signal.broker
        incident = now.get(broker)
        if signal.kind == "healed":
            if incident is not None:
                level[broker] -= signal.partitions
                if level[broker] <= 0:
                    incident.ended_at = signal.at
                    del now[broker]
        elif not _explained(signal, others, signals.settle, {broker, signal.other}):
            if incident is None:
                began = signal.not_before if signal.not_before is not None else signal.at
                cause = "replicas fell out of sync while their broker answered"
                incident = now[broker] = Incident(LAG, cause, began, signal.at, "isr_shrink", broker_id=broker)
                incident.sign("isr_shrink", signal.at)
                level[broker] = 0
                found.append(incident)
            level[broker] += signal.partitions
            incident.partitions += signal.partitions
            incident.under_replicated += signal.partitions
            incident.topics.update(signal.topics)
    # What heals within the settling time is the wobble of something else.
    return [
        incident for incident in found if (incident.ended_at or signals.end) - incident.first_sign_at > signals.settle
    ]


def _explained(signal: Signal, incidents: list[Incident], settle: int, brokers: set[int]) -> bool:
    for incident in incidents:
        about = incident.broker_id in brokers or bool(
            incident.kind == REASSIGNMENT and incident.topics & set(signal.topics)
        )
        if about and incident.covers(signal.at, settle):
            return True
    return False


def _bursts(signals: list[Signal], settle: int, kind: str, cause: str) -> list[Incident]:
    found: list[Incident] = []
    for signal in signals:
        incident = found[-1] if found else None
        if incident is None or signal.at - (incident.ended_at or 0) > settle:
            began = signal.not_before if signal.not_before is not None else signal.at
            incident = Incident(kind, cause, began, signal.at, "leaders_moved")
            found.append(incident)
        incident.sign("leaders_moved", signal.at)
        incident.ended_at = signal.at
        incident.partitions += signal.partitions
        incident.leaders_moved += signal.partitions
        incident.topics.update(signal.topics)
        name = f"moved_{signal.broker}_to_{signal.other}"
        incident.attributes[name] = str(int(incident.attributes.get(name, "0")) + signal.partitions)
    return found
