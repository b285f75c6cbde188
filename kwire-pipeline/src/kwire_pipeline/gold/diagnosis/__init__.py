"""Diagnosis: pure functions from the signals of a cluster to its incidents.

The rules follow from causes and effects in Kafka, not from durations in one recording. Where polls are too rare
to distinguish two causes, the incident says so instead of guessing. Each module finds its kinds of incidents. This one
relates them: an incident that follows from another one names it (`Incident.caused_by`), and effects of an incident are
not reported as further incidents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.gold.diagnosis import (
    broker_outages,
    changes,
    conditions,
    movements,
    reachability,
    topology,
)
from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import PollFailure, Signal, SignalKind, Signals

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Diagnosis",
    "Incident",
    "IncidentKind",
    "PollFailure",
    "Sign",
    "Signal",
    "SignalKind",
    "Signals",
    "diagnose",
    "examine",
]

_SHORTEST_SETTLE = 3_000_000

_ORDER = {kind: position for position, kind in enumerate(SignalKind)}


class Diagnosis(NamedTuple):
    """The incidents of a cluster.

    Attributes:
        signals: the signals in order.
        incidents: all incidents by time.
        explaining: the outages and moves by which signals of lagging replicas are explained.
    """

    signals: Signals
    incidents: list[Incident]
    explaining: list[Incident]


def diagnose(unordered: Iterable[Signal]) -> list[Incident]:
    """Return the incidents of a cluster by time, from its signals in any order."""
    return examine(unordered).incidents


def examine(unordered: Iterable[Signal]) -> Diagnosis:
    """Diagnose a cluster from its signals in any order."""
    signals = _in_order(unordered)
    unreachable = reachability.find(signals)
    outages = reachability.without_effects(broker_outages.find(signals), unreachable, signals.settle)
    reassignments = movements.reassignments(signals)
    config_changes = changes.config_changes(signals)
    controller_moves = changes.controller_moves(signals)
    for incident in controller_moves:
        incident.caused_by = _outage_of(int(incident.attributes["from"]), incident, outages, signals.settle)
    for incident in config_changes:
        incident.caused_by = _throttled_move(incident, reassignments, signals.settle)
    explaining = [*unreachable, *outages, *reassignments]
    incidents = [
        *explaining,
        *config_changes,
        *controller_moves,
        *topology.find(signals),
        *conditions.stalled_groups(signals),
        *conditions.faulty_log_dirs(signals),
        *conditions.deviating_configs(signals),
        *movements.elections(signals, reassignments),
        *movements.unexplained_moves(signals, explaining),
        *movements.lagging_replicas(signals, explaining),
    ]
    incidents.sort(
        key=lambda incident: (incident.began_at, incident.first_sign_at, incident.kind, incident.broker_id or -1),
    )
    return Diagnosis(signals, incidents, explaining)


def _in_order(unordered: Iterable[Signal]) -> Signals:
    def key(signal: Signal) -> tuple[object, ...]:
        who = (signal.reported_by, signal.broker_id, signal.other_broker_id)
        return (signal.at, _ORDER[signal.kind], *who, signal.topic or "", sorted(signal.detail.items()))

    ordered = sorted(unordered, key=key)
    hourly = [signal.detail for signal in ordered if signal.kind == SignalKind.POLL_INTERVAL]
    intervals = [int(detail["interval_us"]) for detail in hourly if "interval_us" in detail]
    return Signals(
        ordered,
        settle=max([_SHORTEST_SETTLE, *(2 * interval for interval in intervals)]),
        interval=max(intervals, default=0),
        end=max((int(detail["end"]) for detail in hourly), default=0),
    )


def _throttled_move(incident: Incident, moves: list[Incident], settle: int) -> Incident | None:
    """Return the reassignment that a throttle belongs to; configs may be polled before or after it."""
    if incident.cause != changes.THROTTLED:
        return None
    for move in moves:
        if move.covers(incident.first_sign_at, settle) or move.covers(incident.began_at, settle):
            return move
        if incident.began_at <= move.began_at <= incident.first_sign_at:
            return move
    return None


def _outage_of(broker_id: int, incident: Incident, outages: list[Incident], settle: int) -> Incident | None:
    """Return the outage of a broker during which the incident was first seen."""
    return next(
        (
            outage
            for outage in outages
            if outage.broker_id == broker_id and outage.covers(incident.first_sign_at, settle)
        ),
        None,
    )
