"""From what was seen to what happened: pure functions from signals to incidents.

Rules come from what causes what in Kafka, not from how long it took in one recording. Where polls are too rare to tell
two causes apart, the incident says so instead of guessing. Each module finds its kinds; here they are put in relation:
what follows from another incident names it (`Incident.caused_by`), and what it explains is not told a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis import broker_outages, configs, controllers, movements, topology
from kwire.spark.gold.diagnosis.incident import Incident
from kwire.spark.gold.diagnosis.signal import Signal, Signals

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Incident", "Signal", "Signals", "diagnose"]

_SHORTEST_SETTLE = 3_000_000


def diagnose(seen: Iterable[Signal]) -> list[Incident]:
    """What happened to one cluster, by time; from its signals in any order."""
    ordered = sorted(
        seen, key=lambda s: (s.at, s.kind, s.reported_by, s.broker, s.other, s.topic or "", sorted(s.detail.items()))
    )
    hourly = [signal.detail for signal in ordered if signal.kind == "rhythm"]
    rhythm = [int(detail["interval_us"]) for detail in hourly if "interval_us" in detail]
    end = max((int(detail["end"]) for detail in hourly), default=0)
    signals = Signals(ordered, max([_SHORTEST_SETTLE, *(2 * each for each in rhythm)]), max(rhythm, default=0), end)

    gone = broker_outages.find(signals)
    moved = movements.reassignments(signals)
    settings_changed = configs.find(signals)
    controller = controllers.find(signals)
    for incident in controller:
        incident.caused_by = _cause(incident, gone, {int(incident.attributes["from"])}, signals.settle)
    for incident in settings_changed:
        incident.caused_by = _throttled(incident, moved, signals.settle)
    found = [
        *gone,
        *moved,
        *settings_changed,
        *controller,
        *topology.find(signals),
        *movements.elections(signals, moved),
        *movements.shifts(signals, [*gone, *moved]),
        *movements.lags(signals, [*gone, *moved]),
    ]
    return sorted(
        found, key=lambda incident: (incident.began_at, incident.first_sign_at, incident.kind, incident.broker_id or -1)
    )


def _throttled(incident: Incident, moves: list[Incident], settle: int) -> Incident | None:
    """The reassignment that a throttle was for; seen when configurations were looked at, before or after."""
    if incident.cause != configs.THROTTLED:
        return None
    for move in moves:
        if move.covers(incident.first_sign_at, settle) or move.covers(incident.began_at, settle):
            return move
        if incident.began_at <= move.began_at <= incident.first_sign_at:
            return move
    return None


def _cause(incident: Incident, among: list[Incident], brokers: set[int], settle: int) -> Incident | None:
    return next((one for one in among if one.broker_id in brokers and one.covers(incident.first_sign_at, settle)), None)
