"""Configurations that were changed, of topics, of brokers, and the cluster's defaults.

What one answer shows first was done together, as far as anybody can see; what the next one adds was done later. A new
topic's configuration is part of its creation, and a default that changed shows at every topic without an own value:
both are no changes of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident

if TYPE_CHECKING:
    from kwire.spark.gold.diagnosis.signal import Signal, Signals

CHANGED = "config_changed"
THROTTLE = ".replication.throttled."
THROTTLED = "replication was throttled, or a throttle taken away"

_CAUSES = {
    "topic": "topics were given other configurations",
    "broker": "a broker was given another configuration",
    "cluster": "the cluster's default configuration was changed",
    "throttle": THROTTLED,
}


def find(signals: Signals) -> list[Incident]:
    """Changes of configurations, by time: one for what was first seen together."""
    found: list[Incident] = []
    latest: dict[tuple[str, str], Incident] = {}
    for signal in signals.of("config"):
        scope = signal.detail["scope"]
        key = signal.detail["key"]
        group = ("throttle" if THROTTLE in key else scope, signal.detail["resource"] if scope == "broker" else "")
        incident = latest.get(group)
        if incident is None or signal.at != incident.first_sign_at:
            began = signal.not_before if signal.not_before is not None else signal.at
            incident = Incident(CHANGED, _CAUSES[group[0]], min(began, signal.at), signal.at, "configs")
            incident.sign("configs", signal.at)
            incident.attributes["scope"] = scope
            if scope == "broker":
                incident.broker_id = int(signal.detail["resource"])
            latest[group] = incident
            found.append(incident)
        incident.ended_at = signal.at
        if scope == "topic":
            incident.topics.add(signal.detail["resource"])
        name = f"{signal.detail['resource']}: {key}" if scope == "topic" else key
        incident.attributes[name] = f"{_shown(signal, 'was')} -> {_shown(signal, 'value')}"
    return found


def _shown(signal: Signal, side: str) -> str:
    return signal.detail.get(side, "(unset)")
