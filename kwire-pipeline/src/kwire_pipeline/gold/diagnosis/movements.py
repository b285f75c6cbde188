"""Moving replicas and leaders without a broker outage: reassignments, elections, lagging replicas.

- A reassignment begins when replica lists change. It ends when all new replicas of the last partition are in sync and
  the old ones are removed from the list. Leaders that move because their broker is no longer a replica belong to it.
- A preferred leader election moves leaders to the first replica while the previous leader is in sync. An operator
  requested it, or the controller ran it (`auto.leader.rebalance.enable`); metadata does not show which.
- A replica that leaves ISRs although its broker responds, without another explanation, is lagging.
- Leaders that move between brokers in sync, and not to the preferred replica, have no visible cause. With rare polls,
  the cause is a broker that was down between two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import Signal, SignalKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_pipeline.gold.diagnosis.signal import Signals

_ELECTED = "leaders moved to preferred replicas from leaders in sync: requested, or by the automatic rebalance"
_UNEXPLAINED = "leaders moved without a visible cause; a broker may have been down between two polls"


def reassignments(signals: Signals) -> list[Incident]:
    """Return reassignments by time."""
    incidents: list[Incident] = []
    now: Incident | None = None
    moving = 0  # partitions with replicas that are not in sync yet: the reassignment lasts until there are none
    for signal in signals.of(
        SignalKind.REPLICAS_CHANGED,
        SignalKind.ADDING_REPLICAS,
        SignalKind.REPLICAS_ADDED,
        SignalKind.LEADER_REASSIGNED,
    ):
        if signal.kind == SignalKind.ADDING_REPLICAS:
            moving += signal.partitions
            continue
        if signal.kind == SignalKind.REPLICAS_ADDED:
            moving = max(0, moving - signal.partitions)
            if now is not None:
                now.ended_at = None if moving else signal.at
            continue
        # Changes that follow within the settling time belong to the same reassignment. A leader that moves without
        # changed replicas before it is not one.
        late = now is None or (now.ended_at is not None and signal.at - now.ended_at > signals.settle)
        if late and signal.kind == SignalKind.LEADER_REASSIGNED:
            continue
        if now is None or late:
            now = Incident.of(IncidentKind.REASSIGNMENT, "replica lists were changed", signal, Sign.REPLICAS)
            incidents.append(now)
        now.ended_at = None if moving else signal.at
        now.topics.update(signal.topics)
        if signal.kind == SignalKind.LEADER_REASSIGNED:
            now.leaders_moved.add(signal)
            now.add_sign(Sign.LEADERS_MOVED, signal.at)
        else:
            now.add_sign(Sign.REPLICAS, signal.at)
            if signal.detail.get("step") == "start":
                now.partitions.add(signal)
    return incidents


def elections(signals: Signals, reassigned: Iterable[Incident]) -> list[Incident]:
    """Return preferred leader elections by time."""
    moves = list(reassigned)

    # A reassigned partition gets its new leader shortly before the old replica is removed from the list.
    def part_of_a_move(signal: Signal) -> bool:
        return any(move.covers(signal.at, 0) and move.topics.issuperset(signal.topics) for move in moves)

    elected = signals.of(SignalKind.PREFERRED_LEADER_ELECTED)
    elected = [signal for signal in elected if not part_of_a_move(signal)]
    return _bursts(elected, signals.settle, IncidentKind.PREFERRED_ELECTION, _ELECTED)


def unexplained_moves(signals: Signals, explained: Iterable[Incident]) -> list[Incident]:
    """Return leader moves without a visible cause by time."""
    others = list(explained)
    moved = [
        signal
        for signal in signals.of(SignalKind.LEADER_LOST, SignalKind.LEADER_MOVED, SignalKind.LEADERLESS)
        if not _explained(signal, others, signals.settle, {signal.broker_id, signal.other_broker_id})
    ]
    return _bursts(moved, signals.settle, IncidentKind.LEADERS_MOVED, _UNEXPLAINED)


def lagging_replicas(signals: Signals, explained: Iterable[Incident]) -> list[Incident]:
    """Return by time the brokers with replicas that fell out of sync while they responded."""
    incidents, _ = _lags(signals, explained)
    # Lag that ends within the settling time is a side effect of something else.
    return [
        incident
        for incident in incidents
        if (incident.ended_at or signals.end) - incident.first_sign_at > signals.settle
    ]


def lags_at_end(signals: Signals, explained: Iterable[Incident]) -> list[tuple[Incident, Signal]]:
    """Return the lagging brokers after all signals, and for each the one signal that stands for the signals so far."""
    incidents, level = _lags(signals, explained)
    return [
        (
            incident,
            Signal(
                SignalKind.ISR_LEFT,
                incident.first_sign_at,
                incident.began_at,
                broker_id=broker_id,
                partitions=level[broker_id],
                partition_hashes=incident.partitions.hashes,
                topics=sorted(incident.topics),
            ),
        )
        for incident in incidents
        if incident.ended_at is None and (broker_id := incident.broker_id) is not None
    ]


def _lags(signals: Signals, explained: Iterable[Incident]) -> tuple[list[Incident], dict[int, int]]:
    """Return the lagging brokers by time, and the number of partitions that are out of sync by broker."""
    others = list(explained)
    now: dict[int, Incident] = {}
    level: dict[int, int] = {}
    incidents: list[Incident] = []
    for signal in signals.of(SignalKind.ISR_LEFT, SignalKind.BACK_IN_SYNC):
        broker_id = signal.broker_id
        incident = now.get(broker_id)
        if signal.kind == SignalKind.BACK_IN_SYNC:
            if incident is not None:
                level[broker_id] -= signal.partitions
                if level[broker_id] <= 0:
                    incident.ended_at = signal.at
                    del now[broker_id]
        elif not _explained(signal, others, signals.settle, {broker_id, signal.other_broker_id}):
            if incident is None:
                cause = "replicas fell out of sync while their broker responded"
                incident = Incident.of(IncidentKind.REPLICA_LAGGING, cause, signal, Sign.ISR_SHRINK, broker_id)
                now[broker_id] = incident
                level[broker_id] = 0
                incidents.append(incident)
            level[broker_id] += signal.partitions
            incident.partitions.add(signal)
            incident.under_replicated.add(signal)
            incident.topics.update(signal.topics)
    return incidents, level


def _explained(signal: Signal, incidents: list[Incident], settle: int, brokers: set[int]) -> bool:
    """Return whether one of the incidents explains the signal."""
    for incident in incidents:
        related = (
            incident.broker_id in brokers
            or incident.kind == IncidentKind.CLUSTER_UNREACHABLE
            or (incident.kind == IncidentKind.REASSIGNMENT and not incident.topics.isdisjoint(signal.topics))
        )
        if related and incident.covers(signal.at, settle):
            return True
    return False


def _bursts(signals: list[Signal], settle: int, kind: IncidentKind, cause: str) -> list[Incident]:
    """Return one incident for each group of leader moves that follow one another within the settling time."""
    incidents: list[Incident] = []
    for signal in signals:
        incident = incidents[-1] if incidents else None
        if incident is None or signal.at - (incident.ended_at or 0) > settle:
            incident = Incident.of(kind, cause, signal, Sign.LEADERS_MOVED)
            incidents.append(incident)
        incident.ended_at = signal.at
        incident.partitions.add(signal)
        incident.leaders_moved.add(signal)
        incident.topics.update(signal.topics)
        name = f"moved_{signal.broker_id}_to_{signal.other_broker_id}"
        incident.attributes[name] = str(int(incident.attributes.get(name, "0")) + signal.partitions)
    return incidents
